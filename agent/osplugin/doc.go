// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

// Package osplugin is the interface between the agent and an operating system: to determine what is booted,
// to write an image, to select the next boot, to bootstrap, to reset. The order of these operations, and
// crash recovery, are in packages upgrade and phase; a plugin performs single operations and keeps no
// position.
//
// Plugins: elemental drives the elemental CLI, GRUB and systemd; dummy keeps everything in the work
// directory.
package osplugin
