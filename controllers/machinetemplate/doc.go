// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

// Package machinetemplate rolls out the changed content of an ElementalMachineTemplate to the Machines that were made from it. Neither their
// owners nor the references of these are changed: package direct starts the upgrades of the hosts itself (docs/adr/0024).
//
// Where an owner refers to another template, Cluster API updates the Machines in place, by the hooks of the runtime extension. Of that the package
// reports how far it is, and what has Machines replaced instead, which Cluster API says in its log only.
//
// Nothing is remembered: what is left to do is read off the Machines, the ElementalRollouts, and the attempts every time, so that a restart at
// any instant does no harm.
package machinetemplate
