// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

// Package clusterkubevirt_test upgrades clusters with one object each: KubeVirt with its real operator, and the OS of all nodes. One has three control
// plane nodes, three workers, and a gate that closes between them. Of the other the manager is killed at each change.
package clusterkubevirt_test
