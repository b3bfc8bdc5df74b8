// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

// Package hooks is the runtime extension: it answers Cluster API's in-place update hooks, and those that give
// a ClusterClass a variable for the OS image.
//
// CanUpdateMachine and CanUpdateMachineSet answer whether a kind of change can be made in place, from the
// request and the replacement policy alone. Cluster API takes a "no" as leave to replace Machines and
// remembers it for 24 hours, so "not now" is never a no, and every doubt is a Failure, which stops the
// rollout before anything is written.
//
// UpdateMachine records what is wanted, as one ElementalHostUpgrade, and translates how far that is. It
// runs no step itself, so that any replica can answer, in milliseconds. Of a request it takes the name of the Machine:
// all else is read, from the cache to tell how far an attempt is, and past it before an attempt is made or the Machine is
// called done. An attempt is made only where Machine, ElementalMachine and host name one another, the namespace has opted
// in, and ElementalMachine, request and owner want the same OS. One that there is is translated whatever they say: Cluster
// API goes on asking for a bad image after its owner has turned to another, and moves the Machine only once that is done.
//
// DiscoverVariables and GeneratePatches are asked where a ClusterClass names them in a patch. They are pure
// functions of the request.
package hooks
