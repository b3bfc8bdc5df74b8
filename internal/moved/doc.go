// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

// Package moved distinguishes objects that "clusterctl move" deletes from the source management cluster from objects that are deleted
// for good. A host must be reset, and annotations be removed, only in the second case.
package moved
