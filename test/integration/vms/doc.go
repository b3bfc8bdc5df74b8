// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

// Package vms tests upgrades of nodes that run virtual machines, on a lab with KubeVirt: that migratable ones are
// migrated and none restarts, that others are reported, or stopped and restarted by policy, and what happens after
// failed migrations.
package vms
