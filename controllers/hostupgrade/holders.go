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
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/attempts"
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
