// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

// Package cloudinit runs the yip files and #cloud-config files in /oem of a lab host, which the elemental CLI runs at the stages of a boot.
//
// The engine is the toolkit's, github.com/rancher/yip: it reads the files, orders their steps, renders them, and writes files and
// directories, beneath the host's root. What its other plugins do to a machine is played: owners, the host name, users and their keys.
//
// Nothing is passed to a shell of this machine. A parser that knows words, quotes, redirections to
// files, && and || splits the commands, which run one by one: those that change files change them under
// the host's root, and the host's supervisor provides the others. Any other command is not found.
package cloudinit
