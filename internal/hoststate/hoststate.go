// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package hoststate

import (
	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
)

// labelTrue is the value of boolean labels that are set.
const labelTrue = "true"

// Reported reports whether the host's agent has reported to this management cluster. `clusterctl move`
// does not preserve status, so a moved host has not reported until its agent reconnects. Nor has a host of version 0.7, of whose status
// the phase is kept, nor one whose agent is outdated: what is known of them is on their labels.
func Reported(host *infrav1.ElementalHost) bool {
	agent := host.Status.Agent
	return !agent.Outdated && (agent.Version != "" || !agent.LastSeen.IsZero())
}

// Installed reports whether the host has an installed OS. The label stands in for a host that has not
// reported yet.
func Installed(host *infrav1.ElementalHost) bool {
	if Reported(host) {
		return host.Status.Installed
	}
	return HasLabel(host, infrav1.InstalledLabel)
}

// Bootstrapped reports whether the host has applied its bootstrap data: by its report, which is set first, or by
// its label, which is preserved by a move and when an agent loses its state.
func Bootstrapped(host *infrav1.ElementalHost) bool {
	return host.Status.Bootstrapped || HasLabel(host, infrav1.BootstrappedLabel)
}

// Joined reports whether a host, which may be nil, has become a node and has reported.
func Joined(host *infrav1.ElementalHost) bool {
	return host != nil && Bootstrapped(host) && Reported(host)
}

// HasLabel reports whether one of the host's boolean labels is "true".
func HasLabel(host *infrav1.ElementalHost, label string) bool {
	return host.Labels[label] == labelTrue
}

// SetLabel sets or removes one of the host's boolean labels, and returns whether that was a change.
func SetLabel(host *infrav1.ElementalHost, label string, yes bool) bool {
	if !yes {
		_, found := host.Labels[label]
		delete(host.Labels, label)
		return found
	}
	if HasLabel(host, label) {
		return false
	}
	if host.Labels == nil {
		host.Labels = map[string]string{}
	}
	host.Labels[label] = labelTrue
	return true
}

// Released reports whether the host is no longer available: it is told to reset itself, has done so, or is
// being deleted.
func Released(host *infrav1.ElementalHost) bool {
	return HasLabel(host, infrav1.NeedsResetLabel) ||
		HasLabel(host, infrav1.ResetLabel) ||
		!host.DeletionTimestamp.IsZero()
}

// Entrusted reports whether the manager or an operator has trusted the host or told it to reset itself: it serves a machine,
// has served one, or was about to. A host cannot propose any of these labels itself. Its own reports are ignored, because anyone
// who can register could report them.
func Entrusted(host *infrav1.ElementalHost) bool {
	return host.Spec.MachineRef != nil ||
		host.Labels[infrav1.ElementalMachineNameLabel] != "" ||
		host.Labels[infrav1.MachineNameLabel] != "" ||
		HasLabel(host, infrav1.NeedsResetLabel)
}

// OwesReset reports whether the host has to be reset before it can be used again: it was trusted, or it is approved and reports
// that it is part of a cluster.
func OwesReset(host *infrav1.ElementalHost) bool {
	return Entrusted(host) || (host.Spec.Approved && Bootstrapped(host))
}

// WasReset reports whether the host has reported that it was wiped. The label is preserved by a move.
func WasReset(host *infrav1.ElementalHost) bool {
	return host.Status.Phase == infrav1.HostPhaseReset || HasLabel(host, infrav1.ResetLabel)
}

// Free reports whether the host can be claimed: approved, installed, never bootstrapped, and not claimed or released.
func Free(host *infrav1.ElementalHost) bool {
	return host.Spec.Approved &&
		host.Spec.MachineRef == nil &&
		Installed(host) &&
		!Bootstrapped(host) &&
		!Released(host)
}

// Interruptible reports whether the desired state of the host may change. It must not while the agent
// writes an image, reboots or assesses its boot: a reset in between would leave a partial snapshot.
func Interruptible(host *infrav1.ElementalHost) bool {
	upgrade := host.Status.Upgrade
	if upgrade == nil {
		return true
	}
	switch upgrade.Phase {
	case infrav1.HostUpgradeApplying, infrav1.HostUpgradeRebooting, infrav1.HostUpgradeAssessing:
		return false
	default:
		return true
	}
}

// Ended reports whether a phase is one of the ends of an attempt.
func Ended(phase infrav1.HostUpgradePhase) bool {
	switch phase {
	case infrav1.HostUpgradeSucceeded, infrav1.HostUpgradeFailed, infrav1.HostUpgradeRolledBack:
		return true
	default:
		return false
	}
}

// ManagedAttemptActive reports whether the upgrade controller has requested an attempt whose end the host has not reported. Meanwhile the
// trigger label belongs to that attempt.
func ManagedAttemptActive(host *infrav1.ElementalHost) bool {
	if host.Spec.Upgrade == nil {
		return false
	}
	status := CurrentStatus(host)
	return status == nil || !Ended(status.Phase)
}

// CurrentAttempt is the id of the attempt that the trigger label refers to: the upgrade controller's, or else a manual one. It is empty if
// no image is specified.
func CurrentAttempt(host *infrav1.ElementalHost) string {
	if host.Spec.Upgrade != nil {
		return host.Spec.Upgrade.Attempt
	}
	return ManualAttempt(host)
}

// CurrentStatus is the reported status of CurrentAttempt, or nil.
func CurrentStatus(host *infrav1.ElementalHost) *infrav1.HostUpgradeStatus {
	status := host.Status.Upgrade
	if status == nil || status.Attempt != CurrentAttempt(host) {
		return nil
	}
	return status
}

// OSStatus is CurrentStatus or, for an idle host that is upgraded without a trigger, the reported status of that attempt. It is nil if the
// host has reported nothing about the OS it has to run.
func OSStatus(host *infrav1.ElementalHost) *infrav1.HostUpgradeStatus {
	if status := CurrentStatus(host); status != nil || host.Status.Upgrade == nil || host.Spec.Upgrade != nil {
		return status
	}
	if host.Status.Upgrade.Attempt != IdleAttempt(host) {
		return nil
	}
	return host.Status.Upgrade
}

// Pending reports whether the trigger label is set, in either spelling.
func Pending(host *infrav1.ElementalHost) bool {
	return host.Labels[infrav1.InPlaceUpgradeLabel] == infrav1.InPlaceUpgradePending ||
		host.Labels[infrav1.InPlaceUpdateLabel] == infrav1.InPlaceUpgradePending
}
