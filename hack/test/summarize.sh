#!/usr/bin/env bash
# Copyright 2026 The Cluster API Provider Elemental Authors.
# SPDX-License-Identifier: Apache-2.0
#
# usage: hack/test/summarize.sh
#
# Says again, from the logs in bin/logs, what failed, where, and what was tried twice: the lines above are very many.
# Kept in bin/logs/summary.txt.
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../../bin/logs" || exit

for log in *.log; do
  sed -E 's/\x1b\[[0-9;]*m//g' "$log" |
    grep -aE '^\s*\[(FAIL|PANICKED|TIMEDOUT|INTERRUPTED)\]|^FAIL\s|^--- FAIL|^panic:|\[FLAKEY TEST|^==> tried again' |
    sort -u | cut -c1-240 | sed "s/^/[${log%.log}] /"
done | tee summary.txt
