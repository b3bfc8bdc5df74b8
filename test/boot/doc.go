// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

// Package boot upgrades a host that boots through GRUB: a virtual machine (QEMU without KVM) with an A/B disk. GRUB's configuration, the boot
// assessment and what GRUB adds to the kernel's command line are those of "elemental init", the elemental CLI or its stand-in writes the other snapshot, and our
// agent runs in the guest. It reports to our Elemental API, which stores in a real kube-apiserver.
//
// Simulated are dracut, udev and systemd (package guest), the installation of the disk, and BIOS GRUB's installation, which the toolkit does not
// support. The OS has no kubelet; it belongs to a host that is not bootstrapped and upgrades by itself. Another host has systemd, containerd and the
// kubelet of this machine and of package nspawn, on cgroup v2.
//
// The disk is a server of network block devices in the test, which loses at a power cut what the guest has not flushed: killing QEMU alone loses
// nothing.
//
// It requires root and what hack/test/boot-packages.sh installs. CUTS=20 cuts the power at that many random moments, FIRMWARE=uefi
// boots with UEFI.
package boot
