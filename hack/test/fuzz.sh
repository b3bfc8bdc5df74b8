#!/usr/bin/env bash
# Copyright 2026 The Cluster API Provider Elemental Authors.
# SPDX-License-Identifier: Apache-2.0
#
# usage: hack/test/fuzz.sh [TIME]
#
# Runs each fuzz target of the repository for TIME (default 20s). An input that fails is written to the package's
# testdata/fuzz, where it is a test case from then on: commit it with the correction.
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.." || exit

failed=""
while IFS=: read -r file target; do
  echo "==> ./$(dirname "$file") $target"
  go test "./$(dirname "$file")" -run '^$' -fuzz "^$target\$" -fuzztime "${1:-20s}" || failed="$failed $target"
done < <(git grep --untracked -oE '^func Fuzz[A-Za-z]+' -- '*_test.go' | sed 's/:func /:/')

[ -z "$failed" ] || { echo "failed:$failed"; exit 1; }
