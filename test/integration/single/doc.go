// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

// Package single tests upgrades of a cluster whose only Node is that of a KubeadmControlPlane of one, with KubeVirt's own components: what
// becomes of the virtual machines that run there under each policy.
package single
