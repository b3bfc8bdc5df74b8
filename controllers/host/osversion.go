// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package host

import (
	"fmt"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/condition"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/hoststate"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/managedos"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/osversion"
)

const osReady = infrav1.OSVersionReadyCondition

// observeOSVersion reports whether the host runs the OS that its spec asks for, and if not, what it takes. The last attempt on the host may be nil.
func observeOSVersion(host *infrav1.ElementalHost, unresolved *managedos.Problem, last *infrav1.ElementalHostUpgrade) {
	status := hoststate.OSStatus(host)
	match := hoststate.Runs(host, host.Spec.OSVersionManagement)
	_, unreadable := osversion.Decode(host.Spec.OSVersionManagement)
	switch {
	case status != nil && underWay(host, status):
		reportProgress(host, status)
	case unreadable != nil:
		condition.False(host, osReady, infrav1.InvalidOSVersionReason, "spec.%s: correct it", unreadable)
	case unresolved != nil:
		condition.False(host, osReady, unresolved.Reason, "%s", unresolved.Message)
	case osversion.Hash(host.Spec.OSVersionManagement) == "":
		condition.True(host, osReady)
	case match == hoststate.MatchSame:
		reportRunning(host)
	case status != nil && hoststate.Ended(status.Phase):
		reportEnd(host, status)
	case match == hoststate.MatchUnknown:
		condition.Unknown(host, osReady, infrav1.WaitingForOSReconcileReason, "Waiting for the agent to report the booted OS")
	default:
		reportWaiting(host, status, last)
	}
}

// underWay reports whether an attempt has been triggered and has not ended. One that only fetches an image
// leaves the host as it is.
func underWay(host *infrav1.ElementalHost, status *infrav1.HostUpgradeStatus) bool {
	return !hoststate.Ended(status.Phase) && (hoststate.Pending(host) || !hoststate.Interruptible(host))
}

// reportProgress leaves the phase to status.upgrade, which has it from the host: a condition that repeated it would be written
// once more for each.
func reportProgress(host *infrav1.ElementalHost, status *infrav1.HostUpgradeStatus) {
	if hoststate.Unmanaged(status.Attempt) {
		condition.False(host, osReady, infrav1.UnmanagedReason,
			"An upgrade triggered by hand is under way: the node is neither drained nor uncordoned for it")
		return
	}
	condition.False(host, osReady, infrav1.WaitingForOSReconcileReason, "Attempt %s is under way", status.Attempt)
}

// reportRunning goes by what is recorded: the agent forgets a run as soon as its end is.
func reportRunning(host *infrav1.ElementalHost) {
	if hoststate.UpgradedByHand(host) {
		condition.TrueBecause(host, osReady, infrav1.UnmanagedReason, "Upgraded by hand")
		return
	}
	condition.True(host, osReady)
}

func reportEnd(host *infrav1.ElementalHost, status *infrav1.HostUpgradeStatus) {
	switch status.Phase {
	case infrav1.HostUpgradeRolledBack:
		condition.False(host, osReady, infrav1.RolledBackReason, "The host fell back to %s%s%s", hoststate.Describe(host), because(status), remedy(host))
	case infrav1.HostUpgradeFailed:
		condition.False(host, osReady, infrav1.OSVersionReconciliationFailedReason, "Attempt %s failed%s%s", status.Attempt, because(status), remedy(host))
	default:
		condition.False(host, osReady, infrav1.WaitingForOSReconcileReason,
			"Attempt %s succeeded, but the host runs %s", status.Attempt, hoststate.Describe(host))
	}
}

func because(status *infrav1.HostUpgradeStatus) string {
	if status == nil || status.Message == "" {
		return ""
	}
	return ": " + status.Message
}

// remedy is what gets a host that is no node yet out of an end: it does not try again by itself what has
// failed. What gets a node out of one, its ElementalHostUpgrade says.
func remedy(host *infrav1.ElementalHost) string {
	if host.Spec.Upgrade != nil || hoststate.Bootstrapped(host) {
		return ""
	}
	return fmt.Sprintf(". To try it again, set label %s to %q; or ask for another image",
		infrav1.InPlaceUpgradeLabel, infrav1.InPlaceUpgradePending)
}

// lastFailure is how the last upgrade of a host ended, and its id, if it did not succeed; empty otherwise, and when the next one has been requested. That of a
// manual run stands on the label until the next attempt removes it.
func lastFailure(host *infrav1.ElementalHost, last *infrav1.ElementalHostUpgrade) (attempt, outcome string) {
	if host.Spec.Upgrade != nil || hoststate.Pending(host) {
		return "", ""
	}
	if run, outcome, _ := hoststate.LastOutcome(host); outcome != "" && host.Labels[infrav1.InPlaceUpgradeLabel] == outcome {
		return run, outcome
	}
	if last == nil {
		return "", ""
	}
	switch last.PhaseNow() {
	case infrav1.UpgradeRolledBack:
		return last.Name, infrav1.InPlaceUpgradeRolledBack
	case infrav1.UpgradeFailed:
		return last.Name, infrav1.InPlaceUpgradeFailed
	default:
		return "", ""
	}
}

// reportWaiting reports a host that runs another OS than it should and is doing nothing about it. The
// agent forgets an attempt when it is withdrawn, so how the last one ended is read from what is recorded.
func reportWaiting(host *infrav1.ElementalHost, status *infrav1.HostUpgradeStatus, last *infrav1.ElementalHostUpgrade) {
	attempt, outcome := lastFailure(host, last)
	switch {
	case outcome == infrav1.InPlaceUpgradeRolledBack:
		condition.False(host, osReady, infrav1.RolledBackReason, "Attempt %s was rolled back; the host runs %s%s", attempt, hoststate.Describe(host), remedy(host))
	case outcome == infrav1.InPlaceUpgradeFailed:
		condition.False(host, osReady, infrav1.OSVersionReconciliationFailedReason, "Attempt %s failed; the host runs %s%s", attempt, hoststate.Describe(host), remedy(host))
	case hoststate.Bootstrapped(host) && !hoststate.Pending(host):
		condition.False(host, osReady, infrav1.InPlaceUpdateNotPendingReason,
			"The host runs %s; it is upgraded when label %s is %q",
			hoststate.Describe(host), infrav1.InPlaceUpgradeLabel, infrav1.InPlaceUpgradePending)
	default:
		condition.False(host, osReady, infrav1.WaitingForOSReconcileReason,
			"The host runs %s; waiting for the agent to upgrade it%s", hoststate.Describe(host), because(status))
	}
}
