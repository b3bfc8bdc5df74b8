// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package hostapi

import (
	"slices"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/hoststate"
)

// newcomerPhases in their order, from registration until the host runs.
var newcomerPhases = []infrav1.HostPhase{
	"", infrav1.HostPhaseRegistering, infrav1.HostPhaseFinalizingRegistration, infrav1.HostPhaseInstalling,
	infrav1.HostPhaseBootstrapping, infrav1.HostPhaseRunning,
}

// movesOn reports whether a report advances a new host to a later phase than the stored one.
func movesOn(stored *infrav1.ElementalHost, reported infrav1.ElementalHostStatus) bool {
	before := stored.Status
	from, to := slices.Index(newcomerPhases, before.Phase), slices.Index(newcomerPhases, reported.Phase)
	return from >= 0 && to > from || reported.Installed && !before.Installed || reported.Bootstrapped && !before.Bootstrapped
}

// advances reports whether a report advances an attempt to a later phase than the stored one: the requested attempt, or one that was already
// reported, which may have been withdrawn after it had begun. The withdrawal waits for the latter, and only for hosts that are vouched for:
// others could report attempts they made up. Backward phases are not exempt from the quota, so a host that alternates between phases is
// throttled.
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

// resets reports whether a report advances the requested reset to a later phase.
func resets(stored *infrav1.ElementalHost, reported infrav1.HostPhase) bool {
	return hoststate.Released(stored) && slices.Index(resetPhases, reported) > slices.Index(resetPhases, stored.Status.Phase)
}

func rank(phase infrav1.HostUpgradePhase) int { return slices.Index(attemptPhases, string(phase)) }
