// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

// Package moved tells what "clusterctl move" takes to another management cluster from what is deleted for good. Both are
// deletions to the cluster that is left behind; only after the second kind a host may be reset, or a mark be taken back.
package moved
