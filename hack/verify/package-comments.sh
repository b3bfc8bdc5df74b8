#!/usr/bin/env bash
# Copyright 2026 The Cluster API Provider Elemental Authors.
# SPDX-License-Identifier: Apache-2.0
#
# Every package says in its package comment which idea it holds. The license header does not count.
set -euo pipefail

documented=$(go list -f '{{.ImportPath}} {{.Doc}}' ./...)
undocumented=$(echo "$documented" | awk 'NF == 1 || $2 == "Copyright" { print $1 }')
[ -z "$undocumented" ] && exit 0
echo "$undocumented"
echo 'These packages have no package comment; add a doc.go that says what the package is for'
exit 1
