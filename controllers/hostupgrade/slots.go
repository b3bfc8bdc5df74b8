// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package hostupgrade

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/conditions"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/attempts"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/clusterview"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/existing"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/preflight"
)

// occupancy is who is in the slots of a cluster.
type occupancy struct {
	// taken are the slots whose attempts exist. Those of attempts that were force-deleted would otherwise be taken
	// for ever.
	taken []infrav1.UpgradeSlot
	// holders are the attempts that have them, in the same order.
	holders []*infrav1.ElementalHostUpgrade
	// arriving are the attempts that are about to take the slot that they held elsewhere.
	arriving []string
}

// liveSlots is who is in the slots now.
func (r *Reconciler) liveSlots(ctx context.Context, o *observation) (occupancy, error) {
	live, err := o.slotHolders(ctx, r.APIReader)
	if err != nil {
		return occupancy{}, err
	}
	unfinished, err := attempts.UnfinishedNow(ctx, r.APIReader, o.clusterKey())
	if err != nil {
		return occupancy{}, err
	}
	live.arriving, err = o.arriving(ctx, unfinished, live.taken)
	return live, err
}

// slotHolders reads the attempts that the slots name, of which there are no more than may be disruptive at a time.
func (o *observation) slotHolders(ctx context.Context, reader client.Reader) (occupancy, error) {
	slots := o.elementalCluster.Status.UpgradeSlots
	holders := make([]infrav1.ElementalHostUpgrade, 0, len(slots))
	for _, slot := range slots {
		holder, err := existing.Get(ctx, reader, &infrav1.ElementalHostUpgrade{}, o.upgrade.Namespace, slot.Upgrade)
		if err != nil {
			return occupancy{}, err
		}
		if holder != nil {
			holders = append(holders, *holder)
		}
	}
	return occupy(slots, holders), nil
}

// clusterKey names the Cluster that the attempt belongs to.
func (o *observation) clusterKey() client.ObjectKey {
	return client.ObjectKey{Namespace: o.upgrade.Namespace, Name: o.upgrade.Spec.ClusterName}
}

func occupy(slots []infrav1.UpgradeSlot, attempts []infrav1.ElementalHostUpgrade) occupancy {
	held := occupancy{}
	for _, slot := range slots {
		holder := slices.IndexFunc(attempts, func(u infrav1.ElementalHostUpgrade) bool { return attemptOf(&u) == slot.Attempt })
		if holder >= 0 {
			held.taken, held.holders = append(held.taken, slot), append(held.holders, &attempts[holder])
		}
	}
	return held
}

// controlPlane are the holders whose nodes belong to the control plane.
func (held occupancy) controlPlane() []*infrav1.ElementalHostUpgrade {
	found := []*infrav1.ElementalHostUpgrade{}
	for i, slot := range held.taken {
		if slot.ControlPlane {
			found = append(found, held.holders[i])
		}
	}
	return found
}

// describe names the nodes of attempts that hold slots, with what holds those that do not go by themselves.
func describe(holders []*infrav1.ElementalHostUpgrade, now time.Time) string {
	said := make([]string, 0, len(holders))
	for _, holder := range holders {
		name := cmp.Or(holder.Status.NodeName, holder.Spec.HostName)
		if held := heldUp(holder, now); held != "" {
			name += " (" + held + ")"
		}
		said = append(said, name)
	}
	slices.Sort(said)
	return strings.Join(said, ", ")
}

// heldUp says what holds an attempt; empty while it goes by itself. All who wait for it say so too: a word for each of its steps, or a
// part of its message, which counts Pods, would be written by every one of them, and each write is a reconcile. One that has ended has
// given its slot back before: what was read of the slot is older.
func heldUp(attempt *infrav1.ElementalHostUpgrade, now time.Time) string {
	phase, step := attempt.Status.Phase, attempt.Status.Step
	switch {
	case isEnded(phase):
		return ""
	case conditions.IsTrue(attempt, clusterv1.PausedCondition):
		return "Paused: its ElementalHostUpgrade is paused"
	case phase == infrav1.UpgradeHostLost:
		return string(phase) + ": waits for its host"
	case attempts.WaitsForApproval(attempt):
		return "Paused: waits for approval"
	}
	if step == stepPreflight || step == stepTrigger {
		if blocked := preflight.BlockedBy(attempt.Status.Preflight); blocked != "" {
			return "held by " + blocked
		}
	}
	if step == stepTrigger { // which an attempt that goes well passes in one reconcile
		return "waits at " + step
	}
	if late := lateAt(attempt, step, now); late != "" {
		return "at " + step + late
	}
	return ""
}

// lateAt is overdue for the step of another attempt.
func lateAt(attempt *infrav1.ElementalHostUpgrade, step string, now time.Time) string {
	timeouts := attempt.Spec.Options.Timeouts
	timeout, limited := map[string]time.Duration{
		stepEvacuateVMs: timeouts.Evacuation(), stepDrain: timeouts.Drain(), stepDetachVolumes: timeouts.Drain(),
		stepAssess: timeouts.Assessment(), stepSettle: timeouts.Settle(),
	}[step]
	if !limited {
		return ""
	}
	return (&observation{now: now, upgrade: attempt}).overdue(step, timeout)
}

// remedy says what a person can do where slots are held by attempts that go on by themselves no more.
func remedy(holders []*infrav1.ElementalHostUpgrade) string {
	lost := []string{}
	for _, holder := range holders {
		if holder.Status.Phase == infrav1.UpgradeHostLost {
			lost = append(lost, holder.Name)
		}
	}
	if len(lost) == 0 {
		return ""
	}
	slices.Sort(lost)
	return "; bring a lost host back, delete its Machine, or set spec.release of ElementalHostUpgrade " + strings.Join(lost, ", ")
}

// In a large cluster most attempts wait for a slot most of the time. They are woken by what changes the slots, and ask
// nothing of the workload cluster but for their own Node while those are taken.

// queue says, before anything is checked, what keeps an attempt from a slot. For one that has waited for it already the checks
// can wait as long as that does: they are run when there is room, in the reconcile that takes the slot. So of many that
// are woken by one free slot only those look around that find it still free. One that prepares is checked for what is of its
// own host: see check.
//
// The order comes before the slots, so that all but the first that wait have a hold that does not change with each slot. The slots are read live. Their holders
// are the cache's: one that it does not know yet counts as gone, and the live look that takes the slot knows better.
func (r *Reconciler) queue(ctx context.Context, o *observation) error {
	if o.elementalCluster == nil || isEnded(o.upgrade.Status.Phase) || o.admitted() {
		return nil
	}
	if preflight.QuarantinedImage(o.elementalCluster, o.digest()) != nil { // the check says so
		return nil
	}
	a := &admission{observation: o}
	var err error
	if a.order, err = r.outOfOrder(ctx, o, r.Client); err != nil {
		return err
	}
	if o.atAdmit = a.holds(); len(o.atAdmit) > 0 {
		return nil
	}
	if a.slots, err = o.slotHolders(ctx, r.Client); err != nil {
		return err
	}
	if err := a.readEvacuation(ctx); err != nil {
		return err
	}
	o.atAdmit = a.holds()
	return nil
}

// isQueued reports whether an attempt waited for a slot when it was last looked at.
func isQueued(upgrade *infrav1.ElementalHostUpgrade) bool {
	return !isEnded(upgrade.Status.Phase) && upgrade.Status.Step == stepAdmit
}

// awaitsOthers reports whether an attempt waits for its turn, for the order of its cluster's upgrade, or until its image is out of quarantine.
func awaitsOthers(attempt *infrav1.ElementalHostUpgrade) bool {
	first := attempts.FirstHold(attempt)
	return isQueued(attempt) || first != nil && attempts.IsOrder(first.Reason) || attempts.AwaitedTurn(attempt) != "" || preflight.HeldByQuarantine(attempt.Status.Preflight)
}

// mostWoken is how many attempts of a group a slot that is free wakes: one that takes it, and one for when that cannot.
const mostWoken = 2

// wakeLimit is how many attempts that are held for a reason are woken. Of those that wait for nodes before theirs the first has none before it, or waits for
// one that does not make way.
func wakeLimit(reason infrav1.HoldReason) int {
	if reason == infrav1.HoldNotInTurn {
		return 1
	}
	return mostWoken
}

// nextOf wakes the attempts that may take a slot of an ElementalCluster that was freed.
func (r *Reconciler) nextOf(ctx context.Context, object client.Object) []ctrl.Request {
	return r.eachCluster(ctx, object, r.next)
}

// queueOf wakes the attempts that wait for a slot of an ElementalCluster, or for its quarantine. The status of one that has just begun to wait
// may not be seen here yet; writing that wakes it.
func (r *Reconciler) queueOf(ctx context.Context, object client.Object) []ctrl.Request {
	return r.eachCluster(ctx, object, r.queued)
}

// queueBehind wakes the attempts that may take a slot for which another attempt has made way.
func (r *Reconciler) queueBehind(ctx context.Context, object client.Object) []ctrl.Request {
	return r.next(ctx, object.GetNamespace(), object.(*infrav1.ElementalHostUpgrade).Spec.ClusterName)
}

// queued are the attempts of a cluster that wait for others, see awaitsOthers.
func (r *Reconciler) queued(ctx context.Context, namespace, cluster string) []ctrl.Request {
	return requestsFor(r.waiting(ctx, namespace, cluster))
}

// next are the first attempts of a cluster for each hold that ends when another attempt makes way, for each number of slots that attempts were made with, and
// for each rollout whose image hosts wait to fetch. One of them that then takes its turn, finds another hold or ends makes way itself: see madeWay.
func (r *Reconciler) next(ctx context.Context, namespace, cluster string) []ctrl.Request {
	type group struct {
		reason  infrav1.HoldReason
		slots   int32
		rollout string
	}
	woken := map[group]int{}
	return requestsFor(slices.DeleteFunc(r.waiting(ctx, namespace, cluster), func(attempt *infrav1.ElementalHostUpgrade) bool {
		of := group{reason: awaited(attempt), slots: attempt.Spec.Options.WithDefaults().MaxConcurrent}
		if of.reason == infrav1.HoldPrefetchBusy {
			of.rollout = attempt.Spec.RolloutName
		}
		woken[of]++
		return of.reason == "" || woken[of] > wakeLimit(of.reason)
	}))
}

// awaited is the hold of an attempt that may end when another one makes way; empty if it has another.
func awaited(attempt *infrav1.ElementalHostUpgrade) infrav1.HoldReason {
	if held := attempts.FirstHold(attempt); held != nil && held.Reason == infrav1.HoldStageFull { // of which one may have left the stage
		return held.Reason
	}
	return attempts.AwaitedTurn(attempt)
}

func requestsFor(waiting []*infrav1.ElementalHostUpgrade) []ctrl.Request {
	requests := make([]ctrl.Request, 0, len(waiting))
	for _, attempt := range waiting {
		requests = append(requests, ctrl.Request{NamespacedName: client.ObjectKeyFromObject(attempt)})
	}
	return requests
}

// waiting are the attempts of a cluster that wait for others, in the order of their nodes, which is all the order there is besides notInTurn: one that is held by
// its checks does not hold those behind it.
func (r *Reconciler) waiting(ctx context.Context, namespace, cluster string) []*infrav1.ElementalHostUpgrade {
	unfinished, err := clusterview.New(r.Client, client.ObjectKey{Namespace: namespace, Name: cluster}).Unfinished(ctx)
	if err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "Failed to find who waits for an upgrade slot")
		return nil
	}
	waiting := []*infrav1.ElementalHostUpgrade{}
	for i := range unfinished {
		if awaitsOthers(&unfinished[i]) {
			waiting = append(waiting, &unfinished[i])
		}
	}
	slices.SortFunc(waiting, attempts.InOrder)
	return waiting
}

// slotFreed passes an ElementalCluster of which a slot was given back. That one was taken lets no attempt go. How many there are is in the options that an
// attempt was made with.
func slotFreed() predicate.Funcs {
	return predicate.Funcs{
		CreateFunc:  func(event.CreateEvent) bool { return false },
		DeleteFunc:  func(event.DeleteEvent) bool { return false },
		GenericFunc: func(event.GenericEvent) bool { return false },
		UpdateFunc: func(e event.UpdateEvent) bool {
			before, ok := e.ObjectOld.(*infrav1.ElementalCluster)
			after, okToo := e.ObjectNew.(*infrav1.ElementalCluster)
			return ok && okToo && slices.ContainsFunc(before.Status.UpgradeSlots, func(slot infrav1.UpgradeSlot) bool {
				return !slices.Contains(after.Status.UpgradeSlots, slot)
			})
		},
	}
}

// madeWay passes an attempt that lets others continue without the release of a slot. It has evacuated its node, or has ended. It was force-deleted, so that no
// controller releases its slot. It has arrived with its slot after a move. Its host has fetched the image, cannot, or has stopped to report. It precedes others no more.
// Or it no longer waits as it did when it was woken.
func madeWay() predicate.Funcs {
	return predicate.Funcs{
		CreateFunc:  func(event.CreateEvent) bool { return false },
		GenericFunc: func(event.GenericEvent) bool { return false },
		DeleteFunc: func(e event.DeleteEvent) bool {
			gone, ok := e.Object.(*infrav1.ElementalHostUpgrade)
			return ok && !isEnded(gone.Status.Phase)
		},
		UpdateFunc: func(e event.UpdateEvent) bool {
			before, ok := e.ObjectOld.(*infrav1.ElementalHostUpgrade)
			after, okToo := e.ObjectNew.(*infrav1.ElementalHostUpgrade)
			return ok && okToo && leavesRoom(before, after)
		},
	}
}

// leavesRoom reports whether an update of an attempt may let others go. One that took a slot wakes the next as well: more than one may be free.
func leavesRoom(before, after *infrav1.ElementalHostUpgrade) bool {
	was := awaited(before)
	isHeldOtherwise := was != "" && awaited(after) != was
	hasEnded := !isEnded(before.Status.Phase) && isEnded(after.Status.Phase) && attempts.HasEntered(after, stepCordon)
	hasRebooted := !attempts.HasEntered(before, stepReboot) && attempts.HasEntered(after, stepReboot)
	return isHeldOtherwise || hasEnded || hasRebooted || isNoMore(hasNotArrived, before, after) ||
		isNoMore(attempts.IsFetching, before, after) || isNoMore(attempts.Precedes, before, after)
}

// isNoMore reports whether what was so of an attempt is not any more.
func isNoMore(so func(*infrav1.ElementalHostUpgrade) bool, before, after *infrav1.ElementalHostUpgrade) bool {
	return so(before) && !so(after)
}
