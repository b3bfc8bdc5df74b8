// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package host

import (
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/hoststate"
)

// outcomes are what is recorded, by the end that a host reports.
var outcomes = map[infrav1.HostUpgradePhase]string{
	infrav1.HostUpgradeSucceeded:  infrav1.InPlaceUpgradeDone,
	infrav1.HostUpgradeFailed:     infrav1.InPlaceUpgradeFailed,
	infrav1.HostUpgradeRolledBack: infrav1.InPlaceUpgradeRolledBack,
}

// mark changes, in memory, the labels, the annotation and the finalizer that follow from the host's
// state, and from what its deletion waits for.
func mark(host *infrav1.ElementalHost, until deletionWait) {
	mirrorFacts(host)
	moveLegacyTrigger(host)
	recordOutcome(host)
	if host.DeletionTimestamp.IsZero() {
		// One that registered at an older API has none.
		controllerutil.AddFinalizer(host, infrav1.ElementalMachineFinalizer)
		return
	}
	if until.orphaned {
		hoststate.SetLabel(host, infrav1.NeedsResetLabel, true)
	}
	if until.waits == "" {
		controllerutil.RemoveFinalizer(host, infrav1.ElementalMachineFinalizer)
	}
}

// mirrorFacts puts what selectors and people look for on labels. A host that has not reported here keeps
// its labels: after `clusterctl move` they are all that is known of it.
func mirrorFacts(host *infrav1.ElementalHost) {
	if !hoststate.Reported(host) {
		return
	}
	hoststate.SetLabel(host, infrav1.InstalledLabel, host.Status.Installed)
	// An ElementalHost does not outlive the reset of its host: what was bootstrapped once stays so, whatever an
	// agent says that has lost its memory, or was installed in place of the predecessor's.
	if host.Status.Bootstrapped {
		hoststate.SetLabel(host, infrav1.BootstrappedLabel, true)
	}
	if host.Status.Phase == infrav1.HostPhaseReset {
		hoststate.SetLabel(host, infrav1.ResetLabel, true)
	}
}

// moveLegacyTrigger gives a trigger in the predecessor's last spelling the name that is looked at. While
// an attempt of the upgrade controller is active the trigger is that attempt's, and a person's waits.
func moveLegacyTrigger(host *infrav1.ElementalHost) {
	if host.Labels[infrav1.InPlaceUpdateLabel] != infrav1.InPlaceUpgradePending || hoststate.ManagedAttemptActive(host) {
		return
	}
	delete(host.Labels, infrav1.InPlaceUpdateLabel)
	host.Labels[infrav1.InPlaceUpgradeLabel] = infrav1.InPlaceUpgradePending
}

// recordOutcome records the end of a manual run, and replaces the trigger by it. The id of the run keeps a trigger for one OS from being
// answered with the end of another. The upgrade controller revokes the trigger of an ElementalHostUpgrade.
func recordOutcome(host *infrav1.ElementalHost) {
	if host.Spec.Upgrade != nil || host.Labels[infrav1.InPlaceUpgradeLabel] != infrav1.InPlaceUpgradePending {
		return
	}
	status := hoststate.CurrentStatus(host)
	if status == nil {
		return
	}
	outcome, ended := outcomes[status.Phase]
	if !ended {
		return
	}
	hoststate.RecordOutcome(host, status, outcome)
}
