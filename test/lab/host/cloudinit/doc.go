// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

// Package cloudinit runs the yip files in /oem of a lab host, which the elemental CLI runs at the stages
// of a boot, and #cloud-config files as yip interprets them.
//
// Nothing is passed to a shell of this machine. A parser that knows words, quotes, redirections to
// files, && and || splits the commands, which run one by one: those that change files change them under
// the host's root, and the host's supervisor provides the others. Any other command is not found.
package cloudinit
