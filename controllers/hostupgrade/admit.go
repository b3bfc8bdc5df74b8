// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package hostupgrade

import (
	"context"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/attempts"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/existing"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/sequence"
)

// admit takes one of the cluster's slots, and waits while there is none, the image is quarantined, or a check blocks: the
// reconcile that takes the slot has evaluated all holds on live reads.
func (r *Reconciler) admit(ctx context.Context, o *observation) (sequence.Result, error) {
	if o.elementalCluster == nil {
		return await(pollCluster, infrav1.NewHold(infrav1.HoldBrokenReferences, "Cluster/"+o.upgrade.Spec.ClusterName,
			"Cluster "+o.upgrade.Spec.ClusterName+" has no ElementalCluster")), nil
	}
	a := &admission{observation: o}
	if held := a.quarantined(); held != nil {
		return await(pollSlots, held), nil
	}
	if len(o.queued) > 0 { // the checks have not been run
		return await(pollSlots, o.queued...), nil
	}
	if o.admitted() {
		return sequence.Done(), nil
	}
	return r.takeSlot(ctx, a)
}

// takeSlot reads what the holds are decided on past all caches, and writes the slot where there are none. What is read last is expensive: the checks
// look at the whole workload cluster.
func (r *Reconciler) takeSlot(ctx context.Context, a *admission) (sequence.Result, error) {
	for _, read := range []func(context.Context, *admission) error{r.readOwner, r.readSlots, r.readOrder, r.readChecks, r.readGates, r.readWanted} {
		if err := read(ctx, a); err != nil {
			return sequence.Result{}, err
		}
		if holds := a.holds(); len(holds) > 0 {
			return await(a.lookAgain(holds), holds...), nil
		}
	}
	err := r.writeSlots(ctx, a.observation, append(a.slots.taken, a.slot()))
	if apierrors.IsConflict(err) { // with another attempt, or with a write of something else, which wakes nobody
		return await(pollPods, infrav1.NewHold(infrav1.HoldNoSlot, "Cluster/"+a.upgrade.Spec.ClusterName,
			"waiting for an upgrade slot of Cluster "+a.upgrade.Spec.ClusterName)), nil
	}
	return sequence.Done(), err
}

// slot is what the attempt takes.
func (o *observation) slot() infrav1.UpgradeSlot {
	return infrav1.UpgradeSlot{Attempt: o.attempt, Upgrade: o.upgrade.Name, ControlPlane: o.isControlPlane()}
}

// mayEvacuate reports whether an attempt that holds a slot is not known to be past the evacuation of its node.
func mayEvacuate(attempt *infrav1.ElementalHostUpgrade) bool {
	return !isEnded(attempt.Status.Phase) && !attempts.HasEntered(attempt, stepReboot)
}

// admitted reports whether the attempt has its slot.
func (o *observation) admitted() bool {
	return o.elementalCluster != nil && holdsSlot(o.elementalCluster.Status.UpgradeSlots, o.attempt)
}

func holdsSlot(slots []infrav1.UpgradeSlot, attempt string) bool {
	return slices.ContainsFunc(slots, func(s infrav1.UpgradeSlot) bool { return s.Attempt == attempt })
}

// freeSlot gives the slot back.
func (r *Reconciler) freeSlot(ctx context.Context, o *observation) error {
	if !o.admitted() {
		return nil
	}
	return r.writeSlots(ctx, o, slices.DeleteFunc(slices.Clone(o.elementalCluster.Status.UpgradeSlots),
		func(s infrav1.UpgradeSlot) bool { return s.Attempt == o.attempt }))
}

// writeSlots writes with a resourceVersion at which the slots are what was read, so that two attempts, even under two leaders, never
// take the same slot. Something else may have been written since, as the status line is all the time: that is no conflict.
func (r *Reconciler) writeSlots(ctx context.Context, o *observation, slots []infrav1.UpgradeSlot) error {
	read := o.elementalCluster
	now, err := existing.Get(ctx, r.APIReader, &infrav1.ElementalCluster{}, read.Namespace, read.Name)
	if err != nil {
		return err
	}
	if now != nil && equality.Semantic.DeepEqual(slotted(now), slotted(read)) { // or the write is a conflict
		o.elementalCluster = now
	}
	written := o.elementalCluster.DeepCopy()
	written.Status.UpgradeSlots = slots
	patch := client.MergeFromWithOptions(o.elementalCluster, client.MergeFromWithOptimisticLock{})
	if err := r.Client.Status().Patch(ctx, written, patch); err != nil {
		return fmt.Errorf("writing the upgrade slots of ElementalCluster %s: %w", o.elementalCluster.Name, err)
	}
	o.elementalCluster = written
	return nil
}

// slotted is what decides on an ElementalCluster whether an attempt has a slot, or gets one.
func slotted(cluster *infrav1.ElementalCluster) []any {
	return []any{cluster.UID, cluster.Generation, cluster.Status.UpgradeSlots}
}
