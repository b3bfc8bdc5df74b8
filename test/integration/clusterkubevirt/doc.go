// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

// Package clusterkubevirt_test upgrades a cluster of three control plane nodes and three workers with one object: KubeVirt with its real operator, then the
// OS of all nodes, with a gate that closes between them.
package clusterkubevirt_test
