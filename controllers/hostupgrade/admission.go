// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package hostupgrade

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/annotations"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/attempts"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/existing"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/owner"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/preflight"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/sequence"
)

// admission is all that decides whether an attempt gets a slot. What has not been read yet holds nothing.
type admission struct {
	*observation
	// optOut, paused and rollsOut keep the attempt from a slot even where one is free. What is paused is the template, or the owner of the Machine.
	optOut, paused, rollsOut *hold
	// slots are who has them.
	slots occupancy
	// evacuates reports whether virtual machines may have to leave the node.
	evacuates bool
	// order is the hold by the cluster's upgrade, or by nodes that go first, and gate by a gate of that upgrade.
	order, gate *hold
	// checks are what the preflight checks found, and unreadable is why they could not look.
	checks     []infrav1.PreflightResult
	unreadable *hold
	// unwanted is the hold of an attempt that is not known to be wanted any more.
	unwanted *hold
	// yields is the hold by nodes that come first, and may be held no more either.
	yields *hold
}

// admissionHolds decide, each on the snapshot alone. The order is that in which they are reported.
var admissionHolds = []func(*admission) []*hold{
	one((*admission).quarantined),
	one((*admission).stoppedAtAdmit),
	one((*admission).awaitsDrain),
	one(func(a *admission) *hold { return a.optOut }),
	one(func(a *admission) *hold { return a.paused }),
	one(func(a *admission) *hold { return a.rollsOut }),
	one((*admission).arriving),
	one((*admission).noSlot),
	one((*admission).controlPlaneBusy),
	one((*admission).evacuationBusy),
	one(func(a *admission) *hold { return a.order }),
	one(func(a *admission) *hold { return a.unreadable }),
	func(a *admission) []*hold { return blockers(a.checks) },
	one(func(a *admission) *hold { return a.gate }),
	one(func(a *admission) *hold { return a.unwanted }),
	one(func(a *admission) *hold { return a.yields }),
}

func one(decide func(*admission) *hold) func(*admission) []*hold {
	return func(a *admission) []*hold {
		if held := decide(a); held != nil {
			return []*hold{held}
		}
		return nil
	}
}

// holds are all that keep the attempt from a slot, as far as the snapshot has been read.
func (a *admission) holds() []*hold {
	found := []*hold{}
	for _, decide := range admissionHolds {
		found = append(found, decide(a)...)
	}
	return found
}

// lookAgain is after how long to look again at holds. Slots, images, drains of Rancher and the cluster's upgrade are watched: what is polled makes up for an event that was missed.
func (a *admission) lookAgain(holds []*hold) time.Duration {
	if attempts.IsOrder(holds[0].Reason) {
		return pollTurn
	}
	switch holds[0].Reason {
	case infrav1.HoldPreflightFailed, infrav1.HoldImageQuarantined:
		return a.pollBlocked(holds)
	case infrav1.HoldDesiredOSUnknown, infrav1.HoldOwnerUnreadable, infrav1.HoldNoLongerDesired, infrav1.HoldClusterUnreachable, infrav1.HoldOwnerRollingOut:
		return pollCluster // owners of any kind, and how far they are, are not watched
	case infrav1.HoldNoSlot, infrav1.HoldControlPlaneBusy, infrav1.HoldEvacuationBusy, infrav1.HoldRancherNotDraining:
		return pollTurn
	case infrav1.HoldRolloutStopped:
		if a.stopped() != nil {
			return pollTurn
		}
	case infrav1.HoldNotInTurn:
		if a.yields != nil {
			return pollCluster
		}
		return cmp.Or(a.turnAfter, pollTurn)
	}
	return pollSlots
}

func (a *admission) quarantined() *hold {
	image := preflight.QuarantinedImage(a.elementalCluster, a.digest())
	if image == nil {
		return nil
	}
	object := "Image/" + a.digest()
	return infrav1.NewHold(infrav1.HoldImageQuarantined, object, object+": "+preflight.QuarantineMessage(a.elementalCluster, image))
}

// arriving keeps attempts from slots that others held before they were moved to this management cluster.
func (a *admission) arriving() *hold {
	if len(a.slots.arriving) == 0 {
		return nil
	}
	return a.slotHold(infrav1.HoldNoSlot, fmt.Sprintf("waiting for an upgrade slot of Cluster %s: moved here with cordoned nodes were %s",
		a.upgrade.Spec.ClusterName, strings.Join(a.slots.arriving, ", ")))
}

func (a *admission) noSlot() *hold {
	taken, most := len(a.slots.taken), a.options.MaxConcurrent
	if taken < int(most) || len(a.slots.arriving) > 0 {
		return nil
	}
	return a.slotHold(infrav1.HoldNoSlot, fmt.Sprintf("waiting for an upgrade slot of Cluster %s: %d of %d taken by %s%s",
		a.upgrade.Spec.ClusterName, taken, most, describe(a.slots.holders, a.now), remedy(a.slots.holders)))
}

func (a *admission) controlPlaneBusy() *hold {
	others := a.slots.controlPlane()
	if !a.isControlPlane() || len(others) == 0 {
		return nil
	}
	return a.slotHold(infrav1.HoldControlPlaneBusy, "waiting for the other control plane node, as they are upgraded one at a time: "+
		describe(others, a.now)+remedy(others))
}

// evacuationBusy keeps a second node from being cordoned while the virtual machines of the first are on their way: two
// nodes that wait for room on each other would wait for ever.
func (a *admission) evacuationBusy() *hold {
	first := slices.IndexFunc(a.slots.holders, mayEvacuate)
	if first < 0 || !a.evacuates {
		return nil
	}
	return a.slotHold(infrav1.HoldEvacuationBusy, "waiting for ElementalHostUpgrade "+a.slots.holders[first].Name+
		" to have evacuated its node: virtual machines leave one node at a time")
}

// slotHold names the Cluster whose slots are waited for, and none of their holders: those change all the time.
func (a *admission) slotHold(reason infrav1.HoldReason, message string) *hold {
	return infrav1.NewHold(reason, "Cluster/"+a.upgrade.Spec.ClusterName, message)
}

func unlessEmpty(message string, reason infrav1.HoldReason, object string) *hold {
	if message == "" {
		return nil
	}
	return infrav1.NewHold(reason, object, message)
}

// readOwner reads what keeps an attempt from a slot even where one is free.
func (r *Reconciler) readOwner(ctx context.Context, a *admission) (err error) {
	if a.optOut, err = r.optedOut(ctx, a.observation); err != nil || a.optOut != nil || owner.IsUpdating(a.machine) {
		return err
	}
	controllers, err := owner.ControllersOf(ctx, a.owners, a.machine)
	if err != nil {
		return err
	}
	a.rollsOut = a.rollingOut(controllers)
	if a.paused = unlessEmpty(controllers.Paused(), infrav1.HoldOwnerPaused, "Machine/"+a.machine.Name); a.paused != nil {
		return nil
	}
	a.paused, err = r.templatePaused(ctx, a.observation)
	return err
}

// templatePaused is the hold by the pause of the template, with which a user stops a rollout between two nodes. Cluster API's updates have their own.
func (r *Reconciler) templatePaused(ctx context.Context, o *observation) (*hold, error) {
	if o.upgrade.Spec.Driver == infrav1.DriverClusterAPI {
		return nil, nil
	}
	name := o.upgrade.Spec.TemplateName
	template, err := existing.Get(ctx, o.owners, &infrav1.ElementalMachineTemplate{}, o.upgrade.Namespace, name)
	if err != nil || template == nil || !annotations.HasPaused(template) {
		return nil, err
	}
	return infrav1.NewHold(infrav1.HoldTemplatePaused, "ElementalMachineTemplate/"+name,
		"ElementalMachineTemplate "+name+" is paused: remove its annotation "+clusterv1.PausedAnnotation), nil
}

// readOwnerNow follows what takes time, and comes before what is read with it.
func (r *Reconciler) readOwnerNow(ctx context.Context, a *admission) error {
	a.owners = existing.Once(r.APIReader)
	return r.readOwner(ctx, a)
}

func (r *Reconciler) readSlots(ctx context.Context, a *admission) (err error) {
	if a.slots, err = r.liveSlots(ctx, a.observation); err != nil {
		return err
	}
	return a.readEvacuation(ctx)
}

// readEvacuation looks for virtual machines only where another node may be evacuated, and nothing else holds the attempt.
func (a *admission) readEvacuation(ctx context.Context) error {
	if a.workload == nil || len(a.holds()) > 0 || !slices.ContainsFunc(a.slots.holders, mayEvacuate) {
		return nil
	}
	residents, err := a.workload.On(ctx, a.node)
	a.evacuates = len(residents) > 0
	return err
}

func (r *Reconciler) readOrder(ctx context.Context, a *admission) (err error) {
	a.order, err = r.outOfOrder(ctx, a.observation, r.APIReader)
	return err
}

func (r *Reconciler) readChecks(ctx context.Context, a *admission) error {
	if a.workload == nil || a.node == nil {
		a.unreadable = a.unreachable()
		return nil
	}
	results, err := r.runChecks(ctx, a.observation, r.sourcesNow(a.observation))
	if err != nil {
		return err
	}
	a.checks, a.upgrade.Status.Preflight = results, preflight.ByCheck(results)
	return nil
}

func (r *Reconciler) readGates(ctx context.Context, a *admission) (err error) {
	a.gate, err = r.closedGate(ctx, a.observation)
	return err
}

// readWanted comes last: the checks may have taken seconds.
func (r *Reconciler) readWanted(ctx context.Context, a *admission) (err error) {
	if a.unwanted, err = r.notDesired(ctx, a.observation); a.unwanted != nil {
		a.unwanted.Message = "no upgrade slot of Cluster " + a.upgrade.Spec.ClusterName + " is taken: " + a.unwanted.Message
	}
	return err
}

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
	if len(o.atAdmit) > 0 { // known before anything is read live
		return await(a.lookAgain(o.atAdmit), o.atAdmit...), nil
	}
	if o.admitted() {
		return sequence.Done(), nil
	}
	return r.takeSlot(ctx, a)
}

// takeSlot reads what the holds are decided on past all caches, and writes the slot where there are none. The checks look at the whole workload cluster,
// which is expensive: they come late, and the owner, of which the cache is asked before, is read live after them.
func (r *Reconciler) takeSlot(ctx context.Context, a *admission) (sequence.Result, error) {
	if owner.IsOfMachineSet(a.machine) { // the kind of another owner is in no cache
		a.owners = r.Client
	}
	for _, read := range []func(context.Context, *admission) error{r.readDrain, r.readOwner, r.readSlots, r.readRollout, r.readOrder, r.readChecks, r.readGates, r.readYield, r.readOwnerNow, r.readWanted} {
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
