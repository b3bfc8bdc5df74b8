// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

// Package clusterupgrade carries out ElementalClusterUpgrades: it changes the templates of the pools, stage by stage, and reports. It upgrades no
// node and talks to no host: a changed template does what it does when a person changes it, and which node may begin is for package
// internal/clusterupgrade to say, whom attempts ask.
package clusterupgrade
