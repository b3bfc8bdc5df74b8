// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

// Package nodes tests upgrades of Nodes whose host runs systemd, containerd and the kubelet, each host in systemd-nspawn. The agent runs
// under its shipped unit, containerd and the kubelet under those of the OS images (hack/os), and the elemental CLI writes the other root
// file system. Cluster API, our manager and the workload cluster's control plane are those of the lab, without kwok.
//
// Simulated are firmware and GRUB's choice (test/lab/double/grub), what the initramfs mounts (testdata/boot.sh), the toolkit's units, and
// "kubeadm join", which also writes the manifests of a control plane. /usr of a host is that of this machine, below the files of its OS
// image.
//
// It requires root, cgroup v1, loop devices, ELEMENTAL_BIN, Debian's packages of hack/test/nodes-packages.sh, and 'make tools-nodes'.
package nodes
