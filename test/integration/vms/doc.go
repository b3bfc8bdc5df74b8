// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

// Package vms tries upgrades of nodes that run virtual machines, on a lab with KubeVirt: that those that can move do and
// none restarts, that those that cannot are named, or stopped and brought back by policy, and what becomes of migrations
// that fail.
package vms
