#!/usr/bin/env bash
# Copyright 2026 The Cluster API Provider Elemental Authors.
# SPDX-License-Identifier: Apache-2.0
#
# One idea per file: no source file is longer than 400 lines.
set -euo pipefail
. hack/verify/files.sh

on_source_files awk -v max=400 '
  FNR > max { lines[FILENAME] = FNR }
  END {
    for (file in lines) {
      print file ": " lines[file] " lines, at most " max " are allowed; split it by idea"
      bad = 1
    }
    exit bad
  }'
