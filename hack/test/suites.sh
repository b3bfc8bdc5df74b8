#!/usr/bin/env bash
# Copyright 2026 The Cluster API Provider Elemental Authors.
# SPDX-License-Identifier: Apache-2.0
#
# usage: hack/test/suites.sh FOLDER [ginkgo flags...]
#
# Runs each suite beneath a folder with a lab of its own (suite.sh), PARALLEL at a time at most (default 4; room.sh), the longest
# first, and the package ALONGSIDE with them, without those in LEAVE_OUT. A suite mostly waits: for a reboot, a drain, a time-out.
# Fails if a suite fails, and says at the end what failed.
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.." || exit
. hack/test/room.sh

folder=$1
shift
mkdir -p bin/logs
# Those of the unit tests stay.
find bin/logs -type f ! -name unit.log -delete

# long_suites prints the names in long-suites.txt, the longest first.
long_suites() { awk '!/^#/ && NF { print $2, $1 }' hack/test/long-suites.txt | sort -rn | awk '{ print $2 }'; }

# longest_first prints the suites' packages. A suite that is not named here runs last.
longest_first() {
  local left_out=" ${LEAVE_OUT:-} " first name
  first="kills ends directkills several $(long_suites | tr '\n' ' ')rollout contract pause"
  [ -z "${ALONGSIDE:-}" ] || echo "$ALONGSIDE"
  for name in $first; do
    case $left_out in *" $name "*) continue ;; esac
    [ -d "$folder/$name" ] && echo "./$folder/$name"
  done
  go list -f '{{if or .TestGoFiles .XTestGoFiles}}{{.ImportPath}}{{end}}' "./$folder/..." |
    sed "s|^.*/$folder/||" | while read -r name; do
    case " $first $left_out" in *" $name "*) ;; *) echo "./$folder/$name" ;; esac
  done
}

[ -z "${LEAVE_OUT:-}" ] || echo "==> left out on this machine: $LEAVE_OUT (LONG=1 runs them, 'make test-long' as many as there is time for)"
# What the suites share is compiled once, before they compete for it.
go vet "./$folder/..." || exit 1
while read -r package; do
  await_room "${PARALLEL:-4}"
  { hack/test/suite.sh "$package" "$@" </dev/null || touch bin/logs/failed; } &
done < <(longest_first)
wait
hack/test/summarize.sh
[ ! -e bin/logs/failed ]
