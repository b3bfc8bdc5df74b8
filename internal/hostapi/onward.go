// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package hostapi

import (
	"slices"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/hoststate"
)

// newcomerPhases in their order: from a host's registration until it runs.
var newcomerPhases = []infrav1.HostPhase{
	"", infrav1.HostPhaseRegistering, infrav1.HostPhaseFinalizingRegistration, infrav1.HostPhaseInstalling,
	infrav1.HostPhaseBootstrapping, infrav1.HostPhaseRunning,
}

// movesOn says whether a report takes a new host further on its way than what is stored. Only forward, as below.
func movesOn(stored *infrav1.ElementalHost, reported infrav1.ElementalHostStatus) bool {
	before := stored.Status
	from, to := slices.Index(newcomerPhases, before.Phase), slices.Index(newcomerPhases, reported.Phase)
	return from >= 0 && to > from || reported.Installed && !before.Installed || reported.Bootstrapped && !before.Bootstrapped
}

// advances says whether a report takes an attempt to a later phase than what is stored: the one that is asked of the host, or
// the one that it has told of already, which may have been withdrawn while it had begun. Whether it has is what the
// withdrawal waits to hear, and matters of a host that somebody vouches for alone: another would tell of attempts of its own making.
// Only forward: a host that goes to and fro between phases is not kept from being told to wait.
func advances(stored *infrav1.ElementalHost, reported *infrav1.HostUpgradeStatus, isVouched bool) bool {
	if reported == nil {
		return false
	}
	asked, told := Desired(stored).Upgrade, stored.Status.Upgrade
	isAsked := asked != nil && asked.Attempt == reported.Attempt
	if told != nil && told.Attempt == reported.Attempt {
		return (isAsked || isVouched) && rank(reported.Phase) > rank(told.Phase)
	}
	return isAsked
}

// resetPhases in their order.
var resetPhases = []infrav1.HostPhase{infrav1.HostPhaseTriggeringReset, infrav1.HostPhaseResetting, infrav1.HostPhaseReset}

// resets says whether a report takes the reset that is asked of a host further. Only forward, as above.
func resets(stored *infrav1.ElementalHost, reported infrav1.HostPhase) bool {
	return hoststate.Released(stored) && slices.Index(resetPhases, reported) > slices.Index(resetPhases, stored.Status.Phase)
}

func rank(phase infrav1.HostUpgradePhase) int { return slices.Index(attemptPhases, string(phase)) }
