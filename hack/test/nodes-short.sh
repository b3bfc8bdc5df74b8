#!/usr/bin/env bash
# Copyright 2026 The Cluster API Provider Elemental Authors.
# SPDX-License-Identifier: Apache-2.0
#
# usage: [DEADLINE=...] hack/test/nodes-short.sh
#
# Runs the short form of test/nodes, one node with a good and a bad image, where the machine can and there is time until DEADLINE
# (deadline.sh). Elsewhere it prints why it does not, and passes. It fails if a spec does, or if something cannot be built.
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.." || exit
. hack/test/deadline.sh

# needed is twice what it takes, in seconds, the tools included.
needed=480

if ! lacks=$(hack/test/nodes-packages.sh 2>&1); then
  printf '==> real nodes did not run:\n%s\n' "$lacks"
elif ! has_time "$needed"; then
  echo "==> real nodes did not run: they can take ${needed}s, and $(seconds_left)s are left"
else
  exec make --no-print-directory test-nodes NODES_LABELS=short
fi
