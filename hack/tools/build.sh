#!/usr/bin/env bash
# Copyright 2026 The Cluster API Provider Elemental Authors.
# SPDX-License-Identifier: Apache-2.0
#
# usage: hack/tools/build.sh NAME...
#
# Builds tools from Go modules into bin/tools. NAME is a tool or a group: lab, dev, kubevirt, certmanager, all (see catalog.sh). What
# is there and current is left alone. May run many times at once, and may be interrupted at any moment: an output is built under
# another name and renamed when it is whole.
set -euo pipefail

here="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"
. "$here/env.sh"
. "$here/catalog.sh"
. "$here/stamp.sh"
. "$here/lock.sh"
. "$here/progress.sh"

TEMPORARY=""

main() {
  [ $# -gt 0 ] || { sed -n 's/^# \{0,1\}//; 5,9p' "${BASH_SOURCE[0]}" >&2; exit 2; }
  trap clean_up EXIT
  trap 'exit 130' INT
  trap 'exit 143' TERM HUP
  mkdir -p "$TOOLS_BIN/.tmp" "$TOOLS_BIN/.logs"

  local names stale="" name count=0 total=0 began=$SECONDS
  names=$(expand_tools "$@")
  for name in $names; do
    read_key "$name"
    if ! is_stamped "$TOOLS_BIN/$name" "$KEY"; then stale="$stale $name" total=$((total + 1)); fi
  done
  for name in $stale; do
    count=$((count + 1))
    build "$name" "[$count/$total]"
  done
  if [ "$total" -gt 0 ]; then echo "Built $total tools into bin/tools in $((SECONDS - began))s"; fi
}

# build NAME PREFIX builds one tool, unless another process has done so in the meantime.
build() {
  local output="$TOOLS_BIN/$1" log="$TOOLS_BIN/.logs/$1.log" began=$SECONDS
  lock "$1" "$TOOLS_BIN"
  read_key "$1"
  if ! is_stamped "$output" "$KEY"; then
    rm -rf "$TOOLS_BIN/.tmp/$1".* # of builds that were killed
    TEMPORARY="$TOOLS_BIN/.tmp/$1.$$"
    mkdir "$TEMPORARY"
    run_shown "$2 building $1" "$log" compile "$1" || explain_failure "$1" "$log"
    mv -f "$TEMPORARY/$1" "$output"
    set_stamp "$output" "$KEY"
    remove_temporary
  fi
  unlock
  echo "$2 $1 ready, $((SECONDS - began))s"
}

# compile NAME: the work folder of "go build" lies beside the output, so that whatever ends this build, both are removed.
compile() {
  cd "$TOOLS_SRC/$TOOL_MODULE"
  GOTMPDIR="$TEMPORARY" exec go build -v -ldflags "$TOOL_LDFLAGS" -o "$TEMPORARY/$1" "$TOOL_PACKAGE"
}

# read_key NAME describes the tool and sets KEY, hashing each module once per run. What the catalog says of other tools
# is no part of it.
read_key() {
  describe_tool "$1"
  local cached="KEY_$TOOL_MODULE"
  KEY=${!cached:-}
  if [ -z "$KEY" ]; then
    KEY=$(module_key "$TOOL_MODULE")
    printf -v "$cached" %s "$KEY"
  fi
  KEY="$KEY $TOOL_PACKAGE $TOOL_LDFLAGS"
}

explain_failure() {
  echo "hack/tools: building $1 failed; the end of $2:" >&2
  grep -v '^go: downloading ' "$2" | tail -n 30 >&2
  exit 1
}

clean_up() {
  stop_child
  remove_temporary
}

remove_temporary() {
  if [ -n "$TEMPORARY" ]; then rm -rf "$TEMPORARY"; fi
  TEMPORARY=""
}

main "$@"
