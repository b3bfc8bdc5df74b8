// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

// Package controlplane tests upgrades of a KubeadmControlPlane on the lab, whose hosts run real etcd
// members.
package controlplane
