// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

// Package etcd runs a real etcd member on a control plane host of the lab, as kubeadm's static Pod does: with a data
// directory that survives reboots, certificates signed by the cluster's etcd CA, and a configuration file that the
// next boot reads.
//
// The workload cluster's API server does not use these members. KubeadmControlPlane queries them, and they lose
// quorum when too many hosts are down.
package etcd
