// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package hostupgrade

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/attempts"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/existing"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/preflight"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/sequence"
)

// admit takes one of the cluster's slots, and holds while there is none, the image is quarantined, or a check blocks: the
// reconcile that takes the slot has run all of them on what is so now.
func (r *Reconciler) admit(ctx context.Context, o *observation) (sequence.Result, error) {
	if o.elementalCluster == nil {
		return sequence.Wait(pollCluster, "Cluster %s has no ElementalCluster", o.upgrade.Spec.ClusterName), nil
	}
	if image := preflight.QuarantinedImage(o.elementalCluster, o.digest()); image != nil {
		return sequence.Wait(pollSlots, "Image/%s: %s", o.digest(), preflight.QuarantineMessage(o.elementalCluster, image)), nil
	}
	if o.heldOff != "" { // the checks have not been run
		return sequence.Wait(pollSlots, "%s", o.heldOff), nil
	}
	if o.admitted() {
		return sequence.Done(), nil
	}
	return r.takeSlot(ctx, o)
}

func (r *Reconciler) takeSlot(ctx context.Context, o *observation) (sequence.Result, error) {
	if why, err := r.notNow(ctx, o); err != nil || why != "" {
		return sequence.Wait(pollSlots, "%s", why), err
	}
	live, err := r.liveSlots(ctx, o)
	if err != nil {
		return sequence.Result{}, err
	}
	if len(live.arriving) > 0 {
		return sequence.Wait(pollSlots, "waiting for an upgrade slot of Cluster %s: moved here with cordoned nodes were %s",
			o.upgrade.Spec.ClusterName, strings.Join(live.arriving, ", ")), nil
	}
	if waitFor, err := r.notItsTurn(ctx, o, live, r.APIReader); err != nil || waitFor != "" {
		return sequence.Wait(pollSlots, "%s", waitFor), err
	}
	if result, err := r.checkAtLast(ctx, o); err != nil || !result.IsDone() {
		return result, err
	}
	err = r.writeSlots(ctx, o, append(live.taken, o.slot()))
	if apierrors.IsConflict(err) { // with another attempt, or with a write of something else, which wakes nobody
		return sequence.Wait(pollPods, "waiting for an upgrade slot of Cluster %s", o.upgrade.Spec.ClusterName), nil
	}
	return sequence.Done(), err
}

// checkAtLast runs the checks, and reads the gates and what is wanted, directly before the slot is written.
func (r *Reconciler) checkAtLast(ctx context.Context, o *observation) (sequence.Result, error) {
	if result, err := r.checkNow(ctx, o); err != nil || !result.IsDone() {
		return result, err
	}
	closed, err := r.closedGate(ctx, o)
	if err != nil || closed != "" {
		return sequence.Wait(pollSlots, "%s", closed), err
	}
	if why := r.unwantedNow(ctx, o); why != "" { // the checks may have taken seconds
		return sequence.Wait(pollCluster, "no upgrade slot of Cluster %s is taken: %s", o.upgrade.Spec.ClusterName, why), nil
	}
	return sequence.Done(), nil
}

// notItsTurn says what stands against a slot: those who have one, or the order of the cluster's upgrade, as the reader has it.
func (r *Reconciler) notItsTurn(ctx context.Context, o *observation, held occupancy, reader client.Reader) (string, error) {
	if waitFor, err := slotBlocker(ctx, o, held); err != nil || waitFor != "" {
		return waitFor, err
	}
	return r.outOfOrder(ctx, o, reader)
}

// notNow says why no slot may be taken, whoever has them: the namespace has opted out, or the owner of the Machine rolls out a change.
func (r *Reconciler) notNow(ctx context.Context, o *observation) (string, error) {
	if closed, err := r.notOptedIn(ctx, o); err != nil || closed != "" {
		return closed, err
	}
	return r.ownerRollsOut(ctx, o)
}

// notOptedIn says that the namespace has not opted in. Where Rancher drains the Node, it asks for the upgrade by hooks that a person has listed.
func (r *Reconciler) notOptedIn(ctx context.Context, o *observation) (string, error) {
	if o.drain != nil {
		return "", nil
	}
	return r.Namespaces.NotOptedIn(ctx, o.upgrade.Namespace)
}

// slot is what the attempt takes.
func (o *observation) slot() infrav1.UpgradeSlot {
	return infrav1.UpgradeSlot{Attempt: o.attempt, Upgrade: o.upgrade.Name, ControlPlane: o.isControlPlane()}
}

// slotBlocker says what stands against one more disruptive upgrade; empty if nothing does.
func slotBlocker(ctx context.Context, o *observation, held occupancy) (string, error) {
	taken, most := len(held.taken), o.options.MaxConcurrent
	if taken >= int(most) {
		return fmt.Sprintf("waiting for an upgrade slot of Cluster %s: %d of %d taken by %s%s",
			o.upgrade.Spec.ClusterName, taken, most, describe(held.holders, o.now), remedy(held.holders)), nil
	}
	if others := held.controlPlane(); o.isControlPlane() && len(others) > 0 {
		return "waiting for the other control plane node, as they are upgraded one at a time: " +
			describe(others, o.now) + remedy(others), nil
	}
	return evacuationBlocker(ctx, o, held.holders)
}

// evacuationBlocker keeps a second node from being cordoned while the virtual machines of the first are on their way: two
// nodes that wait for room on each other would wait for ever. Empty if nothing stands against it.
func evacuationBlocker(ctx context.Context, o *observation, holders []*infrav1.ElementalHostUpgrade) (string, error) {
	first := slices.IndexFunc(holders, mayEvacuate)
	if first < 0 || o.workload == nil {
		return "", nil
	}
	residents, err := o.workload.On(ctx, o.node)
	if err != nil || len(residents) == 0 {
		return "", err
	}
	return "waiting for ElementalHostUpgrade " + holders[first].Name + " to have evacuated its node: virtual machines leave one node at a time", nil
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
	before := o.elementalCluster.DeepCopy()
	o.elementalCluster.Status.UpgradeSlots = slots
	patch := client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})
	if err := r.Client.Status().Patch(ctx, o.elementalCluster, patch); err != nil {
		return fmt.Errorf("writing the upgrade slots of ElementalCluster %s: %w", o.elementalCluster.Name, err)
	}
	return nil
}

// slotted is what decides on an ElementalCluster whether an attempt has a slot, or gets one.
func slotted(cluster *infrav1.ElementalCluster) []any {
	return []any{cluster.UID, cluster.Generation, cluster.Status.UpgradeSlots}
}
