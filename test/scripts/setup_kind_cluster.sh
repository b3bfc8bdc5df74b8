#!/usr/bin/env bash
# Copyright 2026 The Cluster API Provider Elemental Authors.
# SPDX-License-Identifier: Apache-2.0
#
# Where the predecessor had it.
exec "$(dirname "${BASH_SOURCE[0]}")/../../hack/kind/setup_kind_cluster.sh" "$@"
