#!/usr/bin/env bash
# Copyright 2026 The Cluster API Provider Elemental Authors.
# SPDX-License-Identifier: Apache-2.0
#
# The e2e suite, a module of its own, is tidy and compiles. The checks of files look at its files with all others;
# golangci-lint, which would have to load all that the framework depends on, is "make lint-e2e".
set -euo pipefail
cd test/e2e

go mod tidy -diff || { echo 'test/e2e/go.mod or go.sum is not tidy; run "cd test/e2e && go mod tidy" after a change of go.mod' && exit 1; }
go vet ./...
