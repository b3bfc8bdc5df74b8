// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

// Package rancher upgrades hosts of clusters that Rancher provisions: pools of Machines, whose nodes it drains by its own protocol. Rancher is
// played (test/lab/rancher), and Cluster API's managers run as Rancher installs them: without in-place updates and without extensions.
package rancher
