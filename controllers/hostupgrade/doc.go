// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

// Package hostupgrade brings one host to one OS version: the controller of ElementalHostUpgrade.
//
// A reconcile reads the world once (observation.go), runs the steps in their order (steps.go, one
// file a step) and reports. No position is stored; the reboot is the only branch, and the host's own
// report decides on which side of it the attempt is. How an attempt can end, and what is undone
// then, is in ends.go.
package hostupgrade
