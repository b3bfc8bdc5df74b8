#!/usr/bin/env bash
# Copyright 2026 The Cluster API Provider Elemental Authors.
# SPDX-License-Identifier: Apache-2.0
#
# usage: [DEADLINE=...] hack/test/long.sh [ginkgo flags...]
#
# Runs the long suites (long-suites.txt) in turn, PARALLEL at a time at most (default 2; room.sh), beginning with another one each commit, so
# that each comes first in time. One starts only if twice as much time is left until DEADLINE (deadline.sh) as is recorded
# for it, since machines differ by as much: what is left is its time-out, and a suite that is ended by it has failed. At the
# end it is said which ran, with what result, and which did not and why. Fails if one that ran has failed: those for which
# no time was left have not.
#
# Others in the test of this script are LONG_COMMIT, the hash that chooses the first, LONG_TABLE, LONG_RUN, the command that
# runs a suite, and LONG_RESULTS, the folder where it is kept how each went.
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.." || exit
. hack/test/deadline.sh
. hack/test/room.sh

table=${LONG_TABLE:-hack/test/long-suites.txt}
results=${LONG_RESULTS:-bin/logs/long}

main() {
  local name seconds target order=()
  rm -rf "$results"
  mkdir -p "$results"
  while read -r name seconds target; do
    order+=("$name")
    await_room "${PARALLEL:-2}"
    start "$name" "$seconds" "$target" "$@" </dev/null
  done < <(in_turn)
  wait
  report "${order[@]}" | tee "$results/report"
  ! grep -qs FAILED "$results/report"
}

# in_turn prints the lines of the table, beginning with the one that the commit chooses.
in_turn() {
  local lines first i
  mapfile -t lines < <(grep -v -e '^#' -e '^ *$' "$table")
  first=$((16#$(commit | cut -c1-8) % ${#lines[@]}))
  for ((i = 0; i < ${#lines[@]}; i++)); do
    echo "${lines[(first + i) % ${#lines[@]}]}"
  done
}

# commit prints the hash of what is tested; zero where there is no repository.
commit() { echo "${LONG_COMMIT:-$(git rev-parse HEAD 2>/dev/null || echo 0)}"; }

# start NAME SECONDS TARGET [flags...] runs a suite in the background, if there is time for it.
start() {
  local name=$1 most=$((2 * $2))
  if has_time "$most"; then
    shift 2
    run "$name" "$@" &
  else
    echo "did not run: it can take ${most}s, and $(seconds_left)s are left" >"$results/$name"
  fi
}

# run NAME TARGET [flags...] builds what the suite needs, if anything, and runs it.
run() {
  local name=$1 target=$2 began result="FAILED after"
  shift 2
  began=$(now)
  if { [ -z "$target" ] || make --no-print-directory "$target"; } && ${LONG_RUN:-hack/test/suite.sh} "./test/integration/$name" "$@"; then
    result="passed in"
  fi
  echo "$result $(($(now) - began))s" >"$results/$name"
}

# report NAME... says how each went; one that was killed has said nothing.
report() {
  local name
  for name in "$@"; do
    echo "==> long suite $name $(cat "$results/$name" 2>/dev/null || echo 'FAILED: it was killed')"
  done
}

main "$@"
