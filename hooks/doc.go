// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

// Package hooks is the runtime extension: it serves Cluster API's in-place update hooks, and those that add
// a variable for the OS image to a ClusterClass.
//
// CanUpdateMachine and CanUpdateMachineSet answer whether a kind of change can be made in place, from the
// request and the replacement policy alone. If the answer is that it cannot, Cluster API replaces Machines and
// caches the answer for 24 hours. So temporary obstacles are never answered that way, and in case of doubt the answer is
// Failure, which stops the rollout before anything is written.
//
// UpdateMachine ensures that one ElementalHostUpgrade exists, and translates its status. It runs no steps itself, so that any
// replica can answer, in milliseconds. Of a request it uses only the name of the Machine. Everything else is read: from the cache
// to report the progress of an attempt, and live before an attempt is created or the Machine is reported done. An attempt is created
// only if Machine, ElementalMachine and host refer to one another, the namespace has opted in, and ElementalMachine, request
// and owner want the same OS. The status of an existing attempt is translated in any case: Cluster API keeps requesting a bad
// image after its owner has changed to another, and moves the Machine only once that update is done.
//
// DiscoverVariables and GeneratePatches are called if a ClusterClass names them in a patch. They are pure
// functions of the request.
package hooks
