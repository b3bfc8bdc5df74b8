// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

// Package gate evaluates the gates of an ElementalClusterUpgrade: expressions in CEL over objects of the workload cluster, and Jobs in it. It acts
// as a ServiceAccount of the workload cluster, with the rights that its owner has granted that. What cannot be evaluated keeps a gate closed; it
// is no error.
package gate
