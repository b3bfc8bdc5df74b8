// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

// Package clusterupgrade carries out ElementalClusterUpgrades: it changes the templates of the pools, and reports. It upgrades no
// node and talks to no host: a changed template does what it does when a user changes it. Which node may start is for package
// internal/clusterupgrade to say, which attempts ask.
package clusterupgrade
