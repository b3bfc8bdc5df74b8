// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

// Package machinetemplate rolls out the changed content of an ElementalMachineTemplate. Cluster API
// follows the name of a template and never its content, so the content is given a new name: a clone,
// which the template's owners are pointed to.
//
// A wrong moment, a missing feature gate or a surge Machine makes Cluster API replace Machines instead of
// updating them, which resets hosts. So nothing moves before the preconditions for in-place updates are met, and each owner
// moves at a quiet point only. Nothing is remembered: what is left to do is read off the owners and the
// clones every time, so that a restart at any instant does no harm.
package machinetemplate
