#!/usr/bin/env bash
# Copyright 2026 The Cluster API Provider Elemental Authors.
# SPDX-License-Identifier: Apache-2.0
#
# usage: [TRIES=2] hack/test/suites.sh FOLDER [ginkgo flags...]
#
# Runs each suite beneath a folder with a lab of its own, PARALLEL at a time (default 4), the longest first, and the package
# ALONGSIDE with them, without those in LEAVE_OUT. A suite mostly waits: for a reboot, a drain, a time-out. Each line is
# shown as it comes, with the name of its suite, and is kept in bin/logs. A suite that fails is run again until it has been
# tried TRIES times (default 1), and it is said that it was: see .ci/run. Fails if a suite still fails, and says which.
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.." || exit

folder=$1
shift
parallel=${PARALLEL:-4}
logs=$PWD/bin/logs
mkdir -p "$logs"
# Those of the unit tests stay.
find "$logs" -type f ! -name unit.log -delete

# longest_first prints the suites' packages. A suite that is not named here runs last.
longest_first() {
  local left_out=" ${LEAVE_OUT:-} "
  local first="references kills ends several vanish restart rollout vms clusterclass controlplane storage clusterctl contract pause" name
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

run_suite() {
  local package=$1 name=${1##*/} began=$SECONDS code
  shift
  go test -v -count=1 -timeout 60m "$package" "$@" 2>&1 | tee -a "$logs/$name.log" | sed -u "s/^/[$name] /"
  code=${PIPESTATUS[0]}
  if [ "$code" -eq 0 ]; then
    echo "==> $package passed in $((SECONDS - began))s"
  else
    echo "==> $package FAILED after $((SECONDS - began))s: bin/logs/$name.log"
    echo "$package" >> "$logs/failed"
  fi
}
export -f run_suite
export logs

[ -z "${LEAVE_OUT:-}" ] || echo "==> left out on this machine: $LEAVE_OUT (LONG=1 runs them)"
# What the suites share is compiled once, before they compete for it.
go vet "./$folder/..." || exit 1
mapfile -t suites < <(longest_first)
for ((try = 1; ; try++)); do
  : > "$logs/failed"
  # run_suite itself fails at nothing: whoever does was killed.
  printf '%s\n' "${suites[@]}" | xargs -P "$parallel" -I '{}' bash -c 'run_suite "$@"' _ '{}' "$@" || {
    hack/test/summarize.sh
    exit 1
  }
  mapfile -t suites < "$logs/failed"
  if [ "${#suites[@]}" -eq 0 ] || [ "$try" -ge "${TRIES:-1}" ]; then
    break
  fi
  for package in "${suites[@]}"; do
    echo "==> tried again: $package" | tee -a "$logs/${package##*/}.log"
  done
done
hack/test/summarize.sh
[ "${#suites[@]}" -eq 0 ]
