// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package machinetemplate

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/cluster-api/util/conditions"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/attempts"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/capiworkaround"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/clusterview"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/owner"
)

// idleness is how long a rollout may be without an attempt before that is reported. Cluster API waits between two Machines, for minReadySeconds for one.
const idleness = 5 * time.Minute

// lasting are the reasons of attempts' holds that other controllers end within moments, or else a user.
var lasting = []infrav1.HoldReason{infrav1.HoldClusterUnreachable, infrav1.HoldNodeMissing, infrav1.HoldOwnerUnreadable, infrav1.HoldOwnerRollingOut}

// byOtherNodes are the reasons of attempts' holds that other nodes of the Cluster end.
var byOtherNodes = []infrav1.HoldReason{infrav1.HoldNoSlot, infrav1.HoldControlPlaneBusy, infrav1.HoldEvacuationBusy, infrav1.HoldNotInTurn, infrav1.HoldNotInStage, infrav1.HoldStageFull}

// atWork is the key of since when no attempt is at work for an owner.
type atWork struct {
	template types.UID
	owner    string
}

// idle are the owners whose Machines Cluster API does not bring to the template, although no attempt is at work in their Cluster.
func (r *Reconciler) idle(ctx context.Context, seen *observation, now time.Time) ([]infrav1.UpgradeHold, error) {
	found := tally{}
	for _, of := range seen.rotating {
		unfinished, err := r.viewOf(seen, of.ClusterName()).Unfinished(ctx)
		if err != nil {
			return nil, err
		}
		since := r.worked.Look(atWork{seen.template.UID, owner.Describe(of)}, len(unfinished) > 0, now).Since
		if len(unfinished) > 0 || now.Sub(since) < idleness {
			continue
		}
		hold := heldBecause(infrav1.MachinesNotUpToDateReason, strings.Replace(owner.Describe(of), " ", "/", 1),
			owner.Describe(of)+": no upgrade of a Machine has started for 5 minutes: see the conditions of it and of its Machines")
		hold.Who = infrav1.HoldByCluster
		if verdict, err := capiworkaround.Judge(ctx, r.Owners, of); err == nil && verdict.NotQuiet != "" {
			hold.Message += ": " + verdict.NotQuiet
		}
		found.add(hold)
	}
	return found.counted(), nil
}

// heldMachines are what holds the attempts for the template and a user ends, or others have not ended for a minute, and hosts that have left
// their OS: each reason once, that of the first node by name, since it was first found on any.
func (r *Reconciler) heldMachines(ctx context.Context, seen *observation, now time.Time) ([]infrav1.UpgradeHold, error) {
	found := []infrav1.UpgradeHold{}
	for _, cluster := range seen.clusters() {
		held, err := r.heldAttempts(ctx, seen, cluster, now)
		if err != nil {
			return found, err
		}
		drifted, err := r.drifted(ctx, seen, cluster)
		if err != nil {
			return found, err
		}
		found = slices.Concat(found, held, drifted)
	}
	idle, err := r.idle(ctx, seen, now)
	if err != nil || len(found) > 0 {
		return found, err
	}
	return idle, nil
}

// heldAttempts of a Cluster, and of those for other templates the ones that keep them from a slot.
func (r *Reconciler) heldAttempts(ctx context.Context, seen *observation, cluster string, now time.Time) ([]infrav1.UpgradeHold, error) {
	unsettled, err := attempts.Unsettled(ctx, r.Client, client.ObjectKey{Namespace: seen.template.Namespace, Name: cluster})
	if err != nil {
		return nil, err
	}
	held, inTheWay, waits := []infrav1.ElementalHostUpgrade{}, []infrav1.ElementalHostUpgrade{}, false
	for i := range unsettled {
		attempt := &unsettled[i]
		if attempt.Spec.TemplateName != seen.template.Name {
			if !attempt.PhaseNow().IsEnd() && attempts.HasEntered(attempt, attempts.StepCordon) {
				inTheWay = append(inTheWay, *attempt)
			}
			continue
		}
		isCurrent, err := r.isCurrent(ctx, seen, attempt)
		if err != nil {
			return nil, err
		}
		if isCurrent {
			held = append(held, *attempt)
			waits = waits || slices.ContainsFunc(byOtherNodes, func(reason infrav1.HoldReason) bool { return has(attempt.Status.Holds, reason) })
		}
	}
	if waits {
		held = append(held, inTheWay...)
	}
	slices.SortFunc(held, func(a, b infrav1.ElementalHostUpgrade) int {
		return cmp.Or(cmp.Compare(attempts.NodeOf(&a), attempts.NodeOf(&b)), cmp.Compare(a.Name, b.Name))
	})
	return summedUp(held, now), nil
}

// drifted are the hosts of a Cluster that run another OS than they were brought to by the template.
func (r *Reconciler) drifted(ctx context.Context, seen *observation, cluster string) ([]infrav1.UpgradeHold, error) {
	view := r.viewOf(seen, cluster)
	machines, err := view.ElementalMachines(ctx)
	found := tally{}
	for i := range machines {
		machine := &machines[i]
		says := conditions.Get(machine, infrav1.OSDriftedCondition)
		if says == nil || says.Status != metav1.ConditionTrue || !machine.DeletionTimestamp.IsZero() || owner.MadeFrom(machine) != seen.template.Name {
			continue
		}
		if upgraded, err := view.UnfinishedOn(ctx, machine.Name); err != nil || upgraded != nil {
			if err != nil {
				return nil, err
			}
			continue
		}
		hold := heldBecause(infrav1.OSDriftedCondition, "ElementalMachine/"+machine.Name, "ElementalMachine "+machine.Name+": "+says.Message)
		hold.Since = says.LastTransitionTime
		found.add(hold)
	}
	return found.counted(), err
}

// isCurrent reports whether an attempt says something of the rollout: it has not ended, or it is the last one of a Machine that does not run its OS. How
// an attempt for a patched template has ended, condition RolloutBlocked says.
func (r *Reconciler) isCurrent(ctx context.Context, seen *observation, attempt *infrav1.ElementalHostUpgrade) (bool, error) {
	if !attempt.PhaseNow().IsEnd() {
		return true, nil
	}
	if attempt.Spec.Driver != infrav1.DriverClusterAPI {
		return false, nil
	}
	view := r.viewOf(seen, attempt.Spec.ClusterName)
	machine, err := view.ElementalMachine(ctx, attempt.Spec.ElementalMachineName)
	if err != nil || machine == nil || !machine.DeletionTimestamp.IsZero() || clusterview.RunsItsOS(machine) {
		return false, err
	}
	newest, err := view.NewestAttempt(ctx, machine.Name)
	return newest != nil && newest.UID == attempt.UID, err
}

// summedUp names, for each reason, the first node and how many others there are.
func summedUp(held []infrav1.ElementalHostUpgrade, now time.Time) []infrav1.UpgradeHold {
	found := tally{}
	for i := range held {
		for _, hold := range toEnd(&held[i], now) {
			if node := attempts.NodeOf(&held[i]); !strings.HasPrefix(hold.Message, "Node "+node) && !strings.HasPrefix(hold.Message, "Node/"+node+":") {
				hold.Message = "Node " + node + ": " + hold.Message
			}
			if first := found.add(hold); hold.Since.Before(&first.Since) {
				first.Since = hold.Since
			}
		}
	}
	return found.counted()
}

// tally has the first hold of each reason, and how many others there are.
type tally struct {
	holds  []infrav1.UpgradeHold
	others []int
}

// add a hold, and return the first one with its reason.
func (t *tally) add(hold infrav1.UpgradeHold) (first *infrav1.UpgradeHold) {
	for i := range t.holds {
		if t.holds[i].Reason == hold.Reason {
			t.others[i]++
			return &t.holds[i]
		}
	}
	t.holds, t.others = append(t.holds, hold), append(t.others, 0)
	return &t.holds[len(t.holds)-1]
}

// counted are the holds, with how many others there are.
func (t *tally) counted() []infrav1.UpgradeHold {
	for i, more := range t.others {
		if more > 0 {
			t.holds[i].Message += fmt.Sprintf(" (and %d more)", more)
		}
	}
	return t.holds
}

// toEnd are the holds of an attempt that are reported on its template, each reason once; of one that has ended, how.
func toEnd(attempt *infrav1.ElementalHostUpgrade, now time.Time) []infrav1.UpgradeHold {
	switch phase := attempt.PhaseNow(); {
	case phase == infrav1.UpgradeSucceeded || phase == infrav1.UpgradeSuperseded:
		return nil
	case phase.IsEnd():
		hold := heldBecause(infrav1.AttemptNotSucceededReason, "ElementalHostUpgrade/"+attempt.Name,
			fmt.Sprintf("the upgrade has ended as %s: %s", attempt.PhaseNow(), attempt.Status.Message))
		if attempt.Status.CompletionTime != nil {
			hold.Since = *attempt.Status.CompletionTime
		}
		return []infrav1.UpgradeHold{hold}
	}
	found := []infrav1.UpgradeHold{}
	for _, hold := range attempt.Status.Holds {
		mayLast := hold.Who == infrav1.HoldByHost || slices.Contains(lasting, hold.Reason)
		if hold.Who != infrav1.HoldByUser && (!mayLast || now.Sub(hold.Since.Time) < silence) || has(found, hold.Reason) {
			continue
		}
		found = append(found, hold)
	}
	return found
}

// seenOnTemplate is what of an attempt is reported on its template at once.
func seenOnTemplate(attempt *infrav1.ElementalHostUpgrade) []infrav1.HoldReason {
	reasons := []infrav1.HoldReason{}
	for _, hold := range toEnd(attempt, time.Time{}) {
		reasons = append(reasons, hold.Reason)
	}
	return reasons
}
