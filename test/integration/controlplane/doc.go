// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

// Package controlplane tries upgrades of a KubeadmControlPlane on the lab, whose hosts run a real etcd.
package controlplane
