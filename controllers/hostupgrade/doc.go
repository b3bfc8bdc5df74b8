// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

// Package hostupgrade brings one host to one OS version: the controller of ElementalHostUpgrade.
//
// A reconcile reads the world, runs the steps in their order and reports. An attempt that waits at Admit is reconciled from the cache first. No position is
// stored; the reboot is the only branch, and the host's own report decides on which side of it the attempt is. The chapters, in the order of an upgrade:
//
//	controller.go, watches.go  the frame of a reconcile, and what wakes an attempt
//	observe.go, facts.go       what one reconcile reads, and what follows from it
//	cacheonly.go               attempts that wait, and for which nothing is read live
//	arrive.go                  an attempt that was moved from another management cluster
//	steps.go                   the steps, and how they are run
//	prepare.go, pause.go       preflight checks, the image on the host, a user's approval
//	admission.go, slots.go     the list of holds, and the slots of a Cluster with their queue
//	turn.go                    the order of nodes, stops, and which hosts may fetch
//	holds.go, quarantine.go    what a hold records, the order of an ElementalClusterUpgrade, bad images
//	disrupt.go                 cordon, evacuation of virtual machines, drain
//	trigger.go                 what is read live at last, and the request to the host
//	reboot.go                  the reboot, and the assessment of the new boot
//	restore.go                 virtual machines, and what has to settle before the next node
//	ends.go                    how an attempt can end, and what is undone then
//	status.go, metrics.go      what is reported
//	rancher.go                 nodes that Rancher drains
package hostupgrade
