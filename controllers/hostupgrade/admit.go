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
	taken, lost, arriving, err := r.liveSlots(ctx, o)
	if err != nil {
		return sequence.Result{}, err
	}
	if holdsSlot(taken, o.attempt) {
		return sequence.Done(), nil
	}
	if len(arriving) > 0 {
		return sequence.Wait(pollPods, "waiting for a free upgrade slot: moved here with cordoned nodes were %s", strings.Join(arriving, ", ")), nil
	}
	if waitFor := slotBlocker(taken, o.options.MaxConcurrent, o.isControlPlane()); waitFor != "" {
		return sequence.Wait(pollCluster, "%s", waitFor+remedy(lost)), nil
	}
	if waitFor, err := r.evacuationBlocker(ctx, o, taken); err != nil || waitFor != "" {
		return sequence.Wait(pollCluster, "%s", waitFor), err
	}
	err = r.writeSlots(ctx, o, append(taken, o.slot()))
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
func (r *Reconciler) evacuationBlocker(ctx context.Context, o *observation, taken []infrav1.UpgradeSlot) (string, error) {
	if len(taken) == 0 || o.workload == nil {
		return "", nil
	}
	installed, err := o.workload.HasKubeVirt(ctx, o.node)
	if err != nil || !installed {
		return "", err
	}
	for _, slot := range taken {
		attempt, err := read(ctx, r.APIReader, &infrav1.ElementalHostUpgrade{}, o.upgrade.Namespace, slot.Upgrade)
		if err != nil {
			return "", err
		}
		if attempt != nil && mayEvacuate(attempt) {
			return "waiting for ElementalHostUpgrade " + slot.Upgrade + " to have evacuated its node: virtual machines leave one node at a time", nil
		}
	}
	return "", nil
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

// liveSlots are the slots whose attempts still exist. Those of attempts that were removed by force
// would otherwise be taken for ever. The lost ones are those whose hosts have not come back, and those arriving are the
// attempts that are about to take the slot that they held elsewhere.
func (r *Reconciler) liveSlots(ctx context.Context, o *observation) (live, lost []infrav1.UpgradeSlot, arriving []string, err error) {
	attempts := &infrav1.ElementalHostUpgradeList{}
	if err := r.APIReader.List(ctx, attempts, client.InNamespace(o.upgrade.Namespace)); err != nil {
		return nil, nil, nil, fmt.Errorf("listing attempts of Cluster %s: %w", o.upgrade.Spec.ClusterName, err)
	}
	phases := map[string]infrav1.UpgradePhase{}
	for i := range attempts.Items {
		phases[attemptOf(&attempts.Items[i])] = attempts.Items[i].Status.Phase
	}
	for _, slot := range o.elementalCluster.Status.UpgradeSlots {
		phase, exists := phases[slot.Attempt]
		if exists {
			live = append(live, slot)
		}
		if phase == infrav1.UpgradeHostLost {
			lost = append(lost, slot)
		}
	}
	arriving, err = o.arriving(ctx, attempts.Items, live)
	return live, lost, arriving, err
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
