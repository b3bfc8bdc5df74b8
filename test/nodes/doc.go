// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

// Package nodes tests upgrades of Nodes whose hosts run systemd, containerd, the kubelet and kubeadm: test/nspawn. Cluster API, our manager and the
// workload cluster's control plane are those of the lab, without kwok; one cluster has a control plane that kubeadm makes on its host.
//
// It requires root, cgroup v1, loop devices, Debian's packages of hack/test/nodes-packages.sh, and 'make tools-nodes'.
package nodes
