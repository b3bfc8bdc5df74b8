// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

// Package predrain makes the virtual machines of a node leave it before Cluster API deletes its Machine: at a scale-down,
// a replacement or a remediation they are as safe as in an upgrade. A Machine whose Node has a resident with something that
// is to leave it, as KubeVirt, carries a hook, which Cluster API waits for before it drains. The hook is taken off when they
// are gone, and it never stands in the way of what cannot be evacuated any more, see yields. It is a controller of Machines, and not a part of that of ElementalMachines,
// so that no hook is left behind on a Machine whose ElementalMachine has gone.
//
// All that is remembered is the hook itself; the state of a virtual machine that is stopped stands on it.
package predrain
