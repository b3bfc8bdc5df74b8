// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

// Package dummy is an operating system that is only a file, dummy-os.json in the agent's work
// directory. It never touches the host: it serves to try the agent on any machine, and to run many of
// them. Its reboot changes the boot id and returns osplugin.ErrRestart, upon which the agent starts
// anew within its process.
//
// Its images need no registry: the digest of an image is the SHA-256 of its URI. A URI that contains
// "unhealthy" boots and is found bad, one that contains "unbootable" falls back.
package dummy
