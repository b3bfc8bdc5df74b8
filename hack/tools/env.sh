# Copyright 2026 The Cluster API Provider Elemental Authors.
# SPDX-License-Identifier: Apache-2.0
#
# Sourced: where the tools live and the settings every one of them is built with.
# The flags are the ones the Makefile exports, which says why. Other flags would compile the same packages a second time.

TOOLS_SRC="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"
ROOT="$(cd "$TOOLS_SRC/../.." && pwd)"
TOOLS_BIN="$ROOT/bin/tools"
MANIFESTS_OUT="$ROOT/bin/manifests"

export CGO_ENABLED=0 GOFLAGS="-trimpath -buildvcs=false -gcflags=all=-dwarf=false" GOWORK=off
