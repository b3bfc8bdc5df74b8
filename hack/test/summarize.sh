#!/usr/bin/env bash
# Copyright 2026 The Cluster API Provider Elemental Authors.
# SPDX-License-Identifier: Apache-2.0
#
# usage: hack/test/summarize.sh
#
# Says again, from the logs in bin/logs, what failed, where and why: the lines above are very many. Kept in bin/logs/summary.txt.
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../../bin/logs" || exit
shopt -s nullglob

# reasons prints what Ginkgo says of each failure, 25 lines at most.
reasons() {
  awk '/^  \[(FAILED|PANICKED|TIMEDOUT)\] / && !/\] in \[/ { left = 25 } left > 0 { print; left-- } /^  In \[/ { left = 0 }'
}

for log in *.log; do
  plain=$(sed -E 's/\x1b\[[0-9;]*m//g' "$log")
  reasons <<< "$plain" | cut -c1-600 | sed "s/^/[${log%.log}] /"
  grep -aE '^\s*\[(FAIL|PANICKED|TIMEDOUT|INTERRUPTED)\]|^  \[FAILED\] in |^FAIL\s|^--- FAIL|^panic:' <<< "$plain" |
    sort -u | cut -c1-240 | sed "s/^/[${log%.log}] /"
done | tee summary.txt
