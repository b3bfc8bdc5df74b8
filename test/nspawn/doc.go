// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

// Package nspawn has hosts for the suites on real nodes, each in systemd-nspawn with systemd, containerd, the kubelet and kubeadm. The agent runs
// under its shipped unit, containerd and the kubelet under those of the OS images (hack/os), and the elemental CLI writes the other root file
// system. A Node has no OS images, and no agent: it is what managers run on as Pods.
//
// Simulated are firmware and GRUB's choice (test/lab/double/grub), what the initramfs mounts (testdata/boot.sh), and the toolkit's units. /usr of
// a host is that of this machine, below the files of its OS image. Container images are made around static binaries.
//
// Its functions fail the node of Ginkgo that calls them, and clean up at its end.
package nspawn
