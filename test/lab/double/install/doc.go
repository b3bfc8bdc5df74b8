// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

// Package install simulates what the elemental CLI does to a disk: install, upgrade and reset, over the loop
// device snapshotter. One model is used for hosts of the lab and, by the stand-in for the CLI (test/standin), on real partitions: Host is what it
// changes.
//
// It follows the order of the real CLI (v2.3.2) step by step, because what a kill or an error leaves
// behind depends on it:
//
//   - the new snapshot is the default of the next boot as soon as the symlink is switched, before
//     state.yaml is written and long before a reboot;
//   - a kill leaves <id>/snapshot.workDir without an image, the mounts /run/elemental/workingtree and
//     /run/elemental/recovery, and the EFI partition writable. Nothing cleans that up: the next upgrade
//     treats the directory as a passive snapshot;
//   - an error after the switch removes the new snapshot and leaves the symlink dangling, with which the next upgrade does not begin;
//   - an image that cannot become the recovery system leaves its tree mounted, and its loop device;
//   - a hook that fails is logged, and nothing else;
//   - a killed install leaves all partitions mounted as well, and the next one cannot partition a disk that
//     is in use. The boot loader comes after the image: before it, the firmware boots the media again;
//   - the snapshot that is booted is never deleted, even if that leaves one too many.
package install
