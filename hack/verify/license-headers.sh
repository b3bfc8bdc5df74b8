#!/usr/bin/env bash
# Copyright 2026 The Cluster API Provider Elemental Authors.
# SPDX-License-Identifier: Apache-2.0
#
# Every Go file and script starts with the license header of hack/boilerplate.go.txt, after build tags or "#!".
set -euo pipefail
. hack/verify/files.sh

on_source_files awk '
  FNR <= 6 && /^(\/\/|#) Copyright [0-9]+ The Cluster API Provider Elemental Authors\.$/ { copyright[FILENAME] }
  FNR <= 6 && /^(\/\/|#) SPDX-License-Identifier: Apache-2\.0$/ { license[FILENAME] }
  END {
    for (i = 1; i < ARGC; i++) {
      if ((ARGV[i] in copyright) && (ARGV[i] in license)) continue
      print ARGV[i] ": the license header is missing; copy it from hack/boilerplate.go.txt"
      bad = 1
    }
    exit bad
  }'
