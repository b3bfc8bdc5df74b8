// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

// Package clusterupgrade upgrades a cluster of several pools by ElementalClusterUpgrades: in their order, with a canary and its soak, paused,
// cancelled, with a bad image, which another Cluster of the namespace does not take either, and while the manager is killed.
package clusterupgrade
