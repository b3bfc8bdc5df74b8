// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

// Package cloudinit runs, on a lab host, the yip files in /oem that the elemental CLI runs at the stages
// of a boot, and #cloud-config files as yip takes them.
//
// Nothing of it is given to a shell of this machine. Commands are taken apart by a reader that knows
// words, quotes, redirections to files, && and ||, and run one by one: those that change files change
// them beneath the host's root, the others are the ones the host's supervisor provides. What it does
// not know is a command that is not found.
package cloudinit
