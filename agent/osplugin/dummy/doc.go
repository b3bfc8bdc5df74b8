// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

// Package dummy simulates an operating system in a file, dummy-os.json in the agent's work directory. It never changes the host, so it can
// be used to try the agent on any machine, or to run many agents. Its reboot changes the boot id and returns osplugin.ErrRestart, whereupon
// the agent restarts within its process.
//
// Its images need no registry: the digest of an image is the SHA-256 of its URI. An image whose URI contains
// "unhealthy" boots and fails its assessment; with "unbootable" the host falls back.
package dummy
