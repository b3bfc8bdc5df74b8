#!/usr/bin/env bash
# Copyright 2026 The Cluster API Provider Elemental Authors.
# SPDX-License-Identifier: Apache-2.0
#
# go.mod and go.sum are what "go mod tidy" would write.
set -euo pipefail

go mod tidy -diff && exit 0
echo 'go.mod or go.sum is not tidy; run "go mod tidy"'
exit 1
