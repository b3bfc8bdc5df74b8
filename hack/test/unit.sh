#!/usr/bin/env bash
# Copyright 2026 The Cluster API Provider Elemental Authors.
# SPDX-License-Identifier: Apache-2.0
#
# usage: [DEADLINE=...] hack/test/unit.sh PACKAGE...
#
# Tests the packages, each for half an hour at most, or until DEADLINE (see deadline.sh). What is printed is kept in
# bin/logs/unit.log.
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.." || exit
. hack/test/deadline.sh

rm -rf bin/logs
mkdir -p bin/logs
go test -timeout "$(timeout_within 1800)s" "$@" 2>&1 | tee bin/logs/unit.log
code=${PIPESTATUS[0]}
[ "$code" -eq 0 ] || hack/test/summarize.sh
exit "$code"
