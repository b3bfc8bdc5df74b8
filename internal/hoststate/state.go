// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package hoststate

import infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"

// State is the current use of a host; it is in exactly one state.
type State string

// States of a host. The first that is true of a host is its state.
const (
	// StateResetting: its machine has released it, or it is being deleted.
	StateResetting State = "Resetting"
	// StateUnapproved: it is not approved.
	StateUnapproved State = "Unapproved"
	// StateInstalling: it has no installed OS.
	StateInstalling State = "Installing"
	// StateUpgrading: it has been told to upgrade, or is in the middle of it.
	StateUpgrading State = "Upgrading"
	// StateStray: it is part of a cluster, and serves no machine.
	StateStray State = "Stray"
	// StateFree: it can be claimed.
	StateFree State = "Free"
	// StateBootstrapping: it serves a machine, and is not a node yet.
	StateBootstrapping State = "Bootstrapping"
	// StateServing: it is a node.
	StateServing State = "Serving"
)

// States are all states.
var States = []State{
	StateResetting, StateUnapproved, StateInstalling, StateUpgrading, StateStray, StateFree, StateBootstrapping, StateServing,
}

// StateOf a host.
func StateOf(host *infrav1.ElementalHost) State {
	serves := host.Spec.MachineRef != nil
	switch {
	case Released(host):
		return StateResetting
	case !host.Spec.Approved:
		return StateUnapproved
	case !Installed(host):
		return StateInstalling
	case Pending(host) || !Interruptible(host):
		return StateUpgrading
	case Bootstrapped(host) && !serves:
		return StateStray
	case Bootstrapped(host):
		return StateServing
	case serves:
		return StateBootstrapping
	default:
		return StateFree
	}
}
