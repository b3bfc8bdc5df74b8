// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

// Package kills is the kill table of an upgrade of a node that runs virtual machines, which Cluster API starts for a rotated template. Its edges are the side effects
// that were recorded from an undisturbed upgrade: writes to API servers, including those of the evacuation, commands of
// the host, what the agent writes to its disk, and the reboot (testdata/edges.txt). For each of them the manager and
// the agent are killed, just before it and just after. The upgrade must still succeed, with one reboot and one write of
// the image, every virtual machine as before, and no mark left.
package kills
