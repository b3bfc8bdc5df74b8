// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

// Package storage tests on the lab what an upgrade does about the volumes of its node, in a cluster with a simulated
// Longhorn: the order in which the node is drained, what is reported when the drain is refused, and what is waited for
// afterwards. It also tests that virtual machines leave the node of a Machine that is deleted, in a cluster with
// KubeVirt.
package storage
