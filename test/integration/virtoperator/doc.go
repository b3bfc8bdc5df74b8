// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

// Package virtoperator tests the lab's KubeVirt with its real operator: that it is deployed, that virtual machines run and
// migrate on it, and how an upgrade of it goes and is reported, which upgrades of clusters rely on. It does not run our
// manager.
package virtoperator
