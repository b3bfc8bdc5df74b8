// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

// Package vms counts, on a lab with KubeVirt, what the evacuation of a node with 500 virtual machines costs.
package vms
