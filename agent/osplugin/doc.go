// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

// Package osplugin is what the agent needs of an operating system: to know what is booted, to write
// an image, to choose the next boot, to bootstrap, to reset. The order in which these are used, and
// what survives a crash in between, is the business of packages upgrade and phase; a plugin does one
// thing at a time and keeps no position.
//
// Plugins: elemental drives the elemental CLI, GRUB and systemd; dummy keeps everything in the work
// directory.
package osplugin
