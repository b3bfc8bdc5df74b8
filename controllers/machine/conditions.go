// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package machine

import (
	"context"
	"fmt"
	"slices"

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
	infrav1.DisruptedCondition,
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
	infrav1.DisruptedCondition,
	infrav1.DeletingCondition,
}

// reasonOfReady is that of Disrupted if that is what is wrong: a Machine shows it, and its attempt waits until it does not.
func reasonOfReady(issues, unknown, others []conditions.ConditionWithOwnerInfo) string {
	at := func(name string) int {
		return slices.IndexFunc(issues, func(issue conditions.ConditionWithOwnerInfo) bool { return issue.Type == name })
	}
	if disrupted := at(infrav1.DisruptedCondition); disrupted >= 0 && at(infrav1.DeletingCondition) < 0 {
		return issues[disrupted].Reason
	}
	return condition.DefaultReason(issues, unknown, others)
}

// patch writes what the reconcile has changed, if anything.
func (r *Reconciler) patch(ctx context.Context, helper *patch.Helper, machine *infrav1.ElementalMachine) error {
	negative := []string{infrav1.DeletingCondition, infrav1.DisruptedCondition}
	if err := condition.Summarize(machine, reasonOfReady, summarized, negative, negative); err != nil {
		return err
	}
	if err := helper.Patch(ctx, machine, patch.WithOwnedConditions{Conditions: owned}); err != nil {
		return fmt.Errorf("writing ElementalMachine %s: %w", machine.Name, err)
	}
	return nil
}
