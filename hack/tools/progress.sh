# Copyright 2026 The Cluster API Provider Elemental Authors.
# SPDX-License-Identifier: Apache-2.0
#
# Sourced: runs a build as a child and shows that it moves. A terminal gets a line that is rewritten every second,
# anything else (CI, a log file) a line every 20 seconds.

CHILD=""

# run_shown TITLE LOG COMMAND... runs COMMAND with its output in LOG and returns its exit code.
run_shown() {
  local title=$1 log=$2 began=$SECONDS shown=$SECONDS every=20
  shift 2
  if [ -t 1 ]; then every=1; else echo "$title"; fi
  set -m # job control gives the child a process group of its own, for stop_child
  "$@" >"$log" 2>&1 &
  CHILD=$!
  set +m
  while kill -0 "$CHILD" 2>/dev/null; do
    if [ $((SECONDS - shown)) -ge "$every" ]; then
      shown=$SECONDS
      show_progress "$title" "$log" $((SECONDS - began))
    fi
    sleep 0.1
  done
  local code=0
  wait "$CHILD" || code=$?
  CHILD=""
  if [ -t 1 ]; then printf '\r\033[K'; fi
  return "$code"
}

# show_progress TITLE LOG SECONDS counts what "go build -v" has said so far.
show_progress() {
  local downloaded compiled line
  downloaded=$(grep -c '^go: downloading ' "$2" || true)
  compiled=$(grep -vc '^go: ' "$2" || true)
  line="$1: $3s, $downloaded modules downloaded, $compiled packages compiled"
  if [ -t 1 ]; then printf '\r\033[K%s' "$line"; else echo "  $line"; fi
}

# stop_child ends the running command with its compilers, if any, and waits for it. Not by an interrupt, which a script
# that was started in the background ignores, and all its children with it.
stop_child() {
  [ -n "$CHILD" ] || return 0
  kill -TERM -- "-$CHILD" 2>/dev/null || true
  wait "$CHILD" 2>/dev/null || true
  CHILD=""
}
