#!/usr/bin/env bash
# Copyright 2026 The Cluster API Provider Elemental Authors.
# SPDX-License-Identifier: Apache-2.0
#
# The e2e suite, a module of its own, compiles, is tidy and has nothing that golangci-lint finds. What else is checked here
# looks at its files with all others.
set -euo pipefail
root=$PWD
cd test/e2e

go mod tidy -diff || { echo 'test/e2e/go.mod or go.sum is not tidy; run "cd test/e2e && go mod tidy" after a change of go.mod' && exit 1; }
"$root/hack/tools/build.sh" golangci-lint
GOLANGCI_LINT_CACHE="$root/bin/cache/golangci-lint" exec "$root/bin/tools/golangci-lint" run
