// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

// Package etcd runs a real etcd member on a control plane host of the lab, as the static Pod does that kubeadm makes:
// with a data directory that survives reboots, certificates signed by the cluster's etcd authority, and a
// configuration that the next boot finds again.
//
// The workload cluster's API server does not use these members. They are what KubeadmControlPlane asks, and what
// loses its quorum when too many hosts are down.
package etcd
