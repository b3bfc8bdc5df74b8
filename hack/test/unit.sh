#!/usr/bin/env bash
# Copyright 2026 The Cluster API Provider Elemental Authors.
# SPDX-License-Identifier: Apache-2.0
#
# usage: [TRIES=2] hack/test/unit.sh PACKAGE...
#
# Tests the packages. Those that fail are tested again, alone, until they have been tried TRIES times (default 1), and
# it is said that they were: see .ci/run. What is printed is kept in bin/logs/unit.log.
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.." || exit

mkdir -p bin/logs
rm -f bin/logs/*
log=bin/logs/unit.log
: > "$log"

packages=("$@")
for ((try = 1; ; try++)); do
  began=$(wc -l < "$log")
  go test -timeout 30m "${packages[@]}" 2>&1 | tee -a "$log"
  code=${PIPESTATUS[0]}
  mapfile -t failed < <(tail -n +$((began + 1)) "$log" | awk '$1 == "FAIL" && $2 { print $2 }')
  if [ "$code" -eq 0 ] || [ "$try" -ge "${TRIES:-1}" ] || [ "${#failed[@]}" -eq 0 ]; then
    break
  fi
  packages=("${failed[@]}")
  echo "==> tried again: ${packages[*]}" | tee -a "$log"
done
[ "$code" -eq 0 ] || hack/test/summarize.sh
exit "$code"
