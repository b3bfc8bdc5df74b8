// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

// Package vm makes virtual machines on a cluster with KubeVirt, and tells what became of them. What is not said of one is
// left to KubeVirt's own defaults.
package vm
