// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package hoststate

import (
	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
)

// labelTrue is the value of the labels that say a plain yes.
const labelTrue = "true"

// Reported says whether the host's agent has reported to this management cluster. `clusterctl move`
// carries no status, so a moved host is silent until its agent connects anew.
func Reported(host *infrav1.ElementalHost) bool {
	return host.Status.Phase != "" || host.Status.Agent.Version != "" || !host.Status.Agent.LastSeen.IsZero()
}

// Installed says whether the host has an installed OS. The label stands in for a host that has not
// reported yet.
func Installed(host *infrav1.ElementalHost) bool {
	if Reported(host) {
		return host.Status.Installed
	}
	return HasLabel(host, infrav1.InstalledLabel)
}

// Bootstrapped says whether the host has applied its bootstrap data: by its report, which comes first, or by
// its label, which outlives a move, and an agent that has lost its memory.
func Bootstrapped(host *infrav1.ElementalHost) bool {
	return host.Status.Bootstrapped || HasLabel(host, infrav1.BootstrappedLabel)
}

// HasLabel says whether one of the host's yes-or-no labels says yes.
func HasLabel(host *infrav1.ElementalHost, label string) bool {
	return host.Labels[label] == labelTrue
}

// SetLabel sets one of the host's yes-or-no labels, or takes it away. It says whether that was a change.
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

// Released says whether the host is on its way out: it is asked to reset itself, has done so, or is
// being deleted.
func Released(host *infrav1.ElementalHost) bool {
	return HasLabel(host, infrav1.NeedsResetLabel) ||
		HasLabel(host, infrav1.ResetLabel) ||
		!host.DeletionTimestamp.IsZero()
}

// Entrusted says whether the manager or a person has entrusted the host with anything, or asked it to reset itself: it serves
// a machine, has served one, or was to. None of this can a host propose. What it reports of itself does not count: anybody
// who can register could say so.
func Entrusted(host *infrav1.ElementalHost) bool {
	return host.Spec.MachineRef != nil ||
		host.Labels[infrav1.ElementalMachineNameLabel] != "" ||
		host.Labels[infrav1.MachineNameLabel] != "" ||
		HasLabel(host, infrav1.NeedsResetLabel)
}

// OwesReset says whether the host has been given what it has to lose again before it is anybody else's: it was entrusted with
// something, or is approved and says that it is part of a cluster.
func OwesReset(host *infrav1.ElementalHost) bool {
	return Entrusted(host) || (host.Spec.Approved && Bootstrapped(host))
}

// WasReset says whether the host has said that it has been wiped. The label outlives a move.
func WasReset(host *infrav1.ElementalHost) bool {
	return host.Status.Phase == infrav1.HostPhaseReset || HasLabel(host, infrav1.ResetLabel)
}

// Free says whether the host can be claimed: approved, installed, never bootstrapped, and nobody's.
func Free(host *infrav1.ElementalHost) bool {
	return host.Spec.Approved &&
		host.Spec.MachineRef == nil &&
		Installed(host) &&
		!Bootstrapped(host) &&
		!Released(host)
}

// Interruptible says whether the host's agent may be asked for something else. It may not while it
// writes an image, reboots or judges its boot: a reset in between would leave half a snapshot.
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

// Ended says whether a phase is one of the ends of an attempt.
func Ended(phase infrav1.HostUpgradePhase) bool {
	switch phase {
	case infrav1.HostUpgradeSucceeded, infrav1.HostUpgradeFailed, infrav1.HostUpgradeRolledBack:
		return true
	default:
		return false
	}
}

// ManagedAttemptActive says whether the upgrade controller has asked for an attempt that the host has
// not reported the end of. The trigger label is the attempt's as long as it is.
func ManagedAttemptActive(host *infrav1.ElementalHost) bool {
	if host.Spec.Upgrade == nil {
		return false
	}
	status := CurrentStatus(host)
	return status == nil || !Ended(status.Phase)
}

// CurrentAttempt is the id of the attempt that a trigger on the host means: the upgrade controller's, or
// else a person's. It is empty where there is nothing to upgrade to.
func CurrentAttempt(host *infrav1.ElementalHost) string {
	if host.Spec.Upgrade != nil {
		return host.Spec.Upgrade.Attempt
	}
	return ManualAttempt(host)
}

// CurrentStatus is what the host reports of CurrentAttempt, and nil if it reports nothing of it.
func CurrentStatus(host *infrav1.ElementalHost) *infrav1.HostUpgradeStatus {
	status := host.Status.Upgrade
	if status == nil || status.Attempt != CurrentAttempt(host) {
		return nil
	}
	return status
}

// OSStatus is CurrentStatus or, for a host that serves nothing and gets its OS without a trigger, what it
// reports of that. It is nil if the host reports nothing of the OS that it has to run.
func OSStatus(host *infrav1.ElementalHost) *infrav1.HostUpgradeStatus {
	if status := CurrentStatus(host); status != nil || host.Status.Upgrade == nil || host.Spec.Upgrade != nil {
		return status
	}
	if host.Status.Upgrade.Attempt != IdleAttempt(host) {
		return nil
	}
	return host.Status.Upgrade
}

// Pending says whether the host is triggered, in either spelling of the label.
func Pending(host *infrav1.ElementalHost) bool {
	return host.Labels[infrav1.InPlaceUpgradeLabel] == infrav1.InPlaceUpgradePending ||
		host.Labels[infrav1.InPlaceUpdateLabel] == infrav1.InPlaceUpgradePending
}
