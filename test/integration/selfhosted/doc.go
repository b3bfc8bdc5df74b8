// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

// Package selfhosted tests the upgrade of a cluster of one node that manages itself, on the lab: API server, Cluster API's managers and
// ours run on the host that is upgraded, and are gone while it reboots.
package selfhosted
