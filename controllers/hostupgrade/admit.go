// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package hostupgrade

import (
	"context"
	"fmt"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/preflight"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/sequence"
)

// admit takes one of the cluster's slots, and holds while there is none or the image is quarantined.
func (r *Reconciler) admit(ctx context.Context, o *observation) (sequence.Result, error) {
	if o.elementalCluster == nil {
		return sequence.Wait(pollCluster, "Cluster %s has no ElementalCluster", o.upgrade.Spec.ClusterName), nil
	}
	if host, quarantined, err := preflight.QuarantinedBy(o.elementalCluster, o.digest()); err != nil || quarantined {
		return sequence.Wait(pollCluster, "Image/%s: %s", o.digest(), preflight.QuarantineMessage(o.elementalCluster, host)), err
	}
	live, err := r.liveSlots(ctx, o)
	if err != nil {
		return sequence.Result{}, err
	}
	if holdsSlot(live.taken, o.attempt) {
		return sequence.Done(), nil
	}
	if len(live.arriving) > 0 {
		return sequence.Wait(pollPods, "waiting for a free upgrade slot: moved here with cordoned nodes were %s", strings.Join(live.arriving, ", ")), nil
	}
	if waitFor := slotBlocker(live.taken, o.options.MaxConcurrent, o.isControlPlane()); waitFor != "" {
		return sequence.Wait(pollCluster, "%s", waitFor+remedy(live.lost)), nil
	}
	if waitFor, err := evacuationBlocker(ctx, o, live.holders); err != nil || waitFor != "" {
		return sequence.Wait(pollCluster, "%s", waitFor), err
	}
	err = r.writeSlots(ctx, o, append(live.taken, o.slot()))
	if apierrors.IsConflict(err) {
		return sequence.Wait(pollPods, "waiting for a free upgrade slot"), nil
	}
	return sequence.Done(), err
}

// slot is what the attempt takes.
func (o *observation) slot() infrav1.UpgradeSlot {
	return infrav1.UpgradeSlot{Attempt: o.attempt, Upgrade: o.upgrade.Name, ControlPlane: o.isControlPlane()}
}

// slotBlocker says what stands against one more disruptive upgrade; empty if nothing does.
func slotBlocker(taken []infrav1.UpgradeSlot, maxConcurrent int32, controlPlane bool) string {
	if len(taken) >= int(maxConcurrent) {
		return fmt.Sprintf("waiting for a free upgrade slot: %d of %d taken by %s", len(taken), maxConcurrent, slotNames(taken))
	}
	if controlPlane && slices.ContainsFunc(taken, func(s infrav1.UpgradeSlot) bool { return s.ControlPlane }) {
		return "waiting for the other control plane node: control plane nodes are upgraded one at a time"
	}
	return ""
}

// evacuationBlocker keeps a second node from being cordoned while the virtual machines of the first are on their way: two
// nodes that wait for room on each other would wait for ever. Empty if nothing stands against it.
func evacuationBlocker(ctx context.Context, o *observation, holders []*infrav1.ElementalHostUpgrade) (string, error) {
	first := slices.IndexFunc(holders, mayEvacuate)
	if first < 0 || o.workload == nil {
		return "", nil
	}
	installed, err := o.workload.HasKubeVirt(ctx, o.node)
	if err != nil || !installed {
		return "", err
	}
	return "waiting for ElementalHostUpgrade " + holders[first].Name + " to have evacuated its node: virtual machines leave one node at a time", nil
}

// mayEvacuate says whether an attempt that holds a slot is not known to be past the evacuation of its node.
func mayEvacuate(attempt *infrav1.ElementalHostUpgrade) bool {
	return !isEnded(attempt.Status.Phase) && !slices.ContainsFunc(attempt.Status.Steps, func(s infrav1.UpgradeStepStatus) bool {
		return s.Name == stepReboot
	})
}

// remedy says what a person can do where slots are held by attempts that go on by themselves no more.
func remedy(lost []infrav1.UpgradeSlot) string {
	if len(lost) == 0 {
		return ""
	}
	return fmt.Sprintf("; the host of %s is lost: bring it back, delete its Machine, or set spec.release of the ElementalHostUpgrade", slotNames(lost))
}

func slotNames(slots []infrav1.UpgradeSlot) string {
	names := make([]string, 0, len(slots))
	for _, slot := range slots {
		names = append(names, slot.Upgrade)
	}
	slices.Sort(names)
	return strings.Join(names, ", ")
}

func holdsSlot(slots []infrav1.UpgradeSlot, attempt string) bool {
	return slices.ContainsFunc(slots, func(s infrav1.UpgradeSlot) bool { return s.Attempt == attempt })
}

// occupancy is who is in the slots of a cluster.
type occupancy struct {
	// taken are the slots whose attempts exist. Those of attempts that were removed by force would otherwise be taken
	// for ever. The lost ones among them are those whose hosts have not come back.
	taken, lost []infrav1.UpgradeSlot
	// holders are the attempts that have them.
	holders []*infrav1.ElementalHostUpgrade
	// arriving are the attempts that are about to take the slot that they held elsewhere.
	arriving []string
}

func (r *Reconciler) liveSlots(ctx context.Context, o *observation) (occupancy, error) {
	attempts := &infrav1.ElementalHostUpgradeList{}
	if err := r.APIReader.List(ctx, attempts, client.InNamespace(o.upgrade.Namespace)); err != nil {
		return occupancy{}, fmt.Errorf("listing attempts of Cluster %s: %w", o.upgrade.Spec.ClusterName, err)
	}
	live := occupy(o.elementalCluster.Status.UpgradeSlots, attempts.Items)
	var err error
	live.arriving, err = o.arriving(ctx, attempts.Items, live.taken)
	return live, err
}

func occupy(slots []infrav1.UpgradeSlot, attempts []infrav1.ElementalHostUpgrade) occupancy {
	live := occupancy{}
	for _, slot := range slots {
		holder := slices.IndexFunc(attempts, func(u infrav1.ElementalHostUpgrade) bool { return attemptOf(&u) == slot.Attempt })
		if holder < 0 {
			continue
		}
		live.taken, live.holders = append(live.taken, slot), append(live.holders, &attempts[holder])
		if attempts[holder].Status.Phase == infrav1.UpgradeHostLost {
			live.lost = append(live.lost, slot)
		}
	}
	return live
}

// freeSlot gives the slot back.
func (r *Reconciler) freeSlot(ctx context.Context, o *observation) error {
	if o.elementalCluster == nil || !holdsSlot(o.elementalCluster.Status.UpgradeSlots, o.attempt) {
		return nil
	}
	return r.writeSlots(ctx, o, slices.DeleteFunc(slices.Clone(o.elementalCluster.Status.UpgradeSlots),
		func(s infrav1.UpgradeSlot) bool { return s.Attempt == o.attempt }))
}

// writeSlots writes with the resourceVersion that was read, so that two attempts, even under two
// leaders, never take the same slot.
func (r *Reconciler) writeSlots(ctx context.Context, o *observation, slots []infrav1.UpgradeSlot) error {
	before := o.elementalCluster.DeepCopy()
	o.elementalCluster.Status.UpgradeSlots = slots
	patch := client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})
	if err := r.Client.Status().Patch(ctx, o.elementalCluster, patch); err != nil {
		return fmt.Errorf("writing the upgrade slots of ElementalCluster %s: %w", o.elementalCluster.Name, err)
	}
	return nil
}
