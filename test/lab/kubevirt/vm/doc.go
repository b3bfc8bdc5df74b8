// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

// Package vm creates virtual machines on a cluster with KubeVirt, and reads their state. What a Spec leaves out has
// KubeVirt's own defaults.
package vm
