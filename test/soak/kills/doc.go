// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

// Package kills is the kill table of an upgrade of a node that runs virtual machines. Its edges are the side effects that
// were recorded of an undisturbed one: writes to API servers, those of the evacuation among them, commands of the host,
// what the agent puts on its disk, the reboot (testdata/edges.txt). For each of them the manager and the agent are
// killed, just before it and just after; the upgrade has to succeed all the same, with one reboot and one write of the
// image, every virtual machine as it was, and to leave no mark.
package kills
