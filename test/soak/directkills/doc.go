// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

// Package directkills is the kill table of the rollout of a patched template, to a Machine without an owner. Its edges are the writes of the
// manager that were recorded from an undisturbed rollout (testdata/edges.txt): its record, what is noted on and written to the
// ElementalMachine, the attempt, each of its steps, and its end. The manager is killed just before and just after each of them, and the rollout
// must still succeed, with one attempt, one trigger, one reboot and one write of the image, and no mark left. What the agent and the
// host do is the same for a rotated template: package kills kills at that, too.
package directkills
