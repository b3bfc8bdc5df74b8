// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package machine

import (
	"context"
	"fmt"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/conditions"
	"sigs.k8s.io/cluster-api/util/patch"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/condition"
)

// summarized are the conditions that make an ElementalMachine Ready. OSUpToDate and OSDrifted are not among them: a machine serves with an OS that is not the
// wanted one.
var summarized = conditions.ForConditionTypes{
	infrav1.DeletingCondition,
	infrav1.UpgradingCondition,
	infrav1.AssociationReadyCondition,
	infrav1.HostReadyCondition,
	infrav1.ProviderIDReadyCondition,
}

// owned are the conditions that nobody else writes.
var owned = []string{
	clusterv1.ReadyCondition,
	clusterv1.PausedCondition,
	infrav1.AssociationReadyCondition,
	infrav1.HostReadyCondition,
	infrav1.ProviderIDReadyCondition,
	infrav1.OSUpToDateCondition,
	infrav1.OSDriftedCondition,
	infrav1.UpdateMarkRestoredCondition,
	infrav1.UpgradingCondition,
	infrav1.DeletingCondition,
}

// nameUpgrade gives condition Ready the reason of Upgrading, which a Machine shows, and by which its attempt knows what is shown.
func nameUpgrade(machine *infrav1.ElementalMachine) {
	if !conditions.IsTrue(machine, infrav1.UpgradingCondition) || !machine.DeletionTimestamp.IsZero() {
		return
	}
	ready := *conditions.Get(machine, clusterv1.ReadyCondition)
	ready.Reason = conditions.GetReason(machine, infrav1.UpgradingCondition)
	conditions.Set(machine, ready)
}

// patch writes what the reconcile has changed, if anything.
func (r *Reconciler) patch(ctx context.Context, helper *patch.Helper, machine *infrav1.ElementalMachine) error {
	negative := []string{infrav1.DeletingCondition, infrav1.UpgradingCondition}
	if err := condition.Summarize(machine, summarized, negative, negative); err != nil {
		return err
	}
	nameUpgrade(machine)
	if err := helper.Patch(ctx, machine, patch.WithOwnedConditions{Conditions: owned}); err != nil {
		return fmt.Errorf("writing ElementalMachine %s: %w", machine.Name, err)
	}
	return nil
}
