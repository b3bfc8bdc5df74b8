#!/usr/bin/env bash
# Copyright 2026 The Cluster API Provider Elemental Authors.
# SPDX-License-Identifier: Apache-2.0
#
# Every Go file is formatted.
set -euo pipefail
. hack/verify/files.sh

unformatted=$(on_go_files gofmt -l)
[ -z "$unformatted" ] && exit 0
echo "$unformatted"
echo 'These files are not formatted; run "make fmt"'
exit 1
