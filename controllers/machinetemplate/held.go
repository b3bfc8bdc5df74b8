// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package machinetemplate

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"sigs.k8s.io/cluster-api/util/conditions"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/condition"
)

// maxHolds are reported, as in the API.
const maxHolds = 32

// passing are the reasons of ReferencesUpdated that end by themselves, or that RolloutBlocked has already.
var passing = []string{infrav1.WaitingForQuietPointReason, infrav1.ReferencesUpdatedReason, infrav1.BlockedReason}

// silence is how long a host may leave its attempt without an answer before it is reported on the template. A rollout that is under way is looked at more often.
const silence = time.Minute

// heldAttempts are what a user, or a host, has to end on the attempts for the template and its clones: one hold for each reason, that of the first node by name.
func (r *Reconciler) heldAttempts(ctx context.Context, seen *observation) ([]infrav1.UpgradeHold, error) {
	family := sets.New(slices.Collect(maps.Keys(seen.clones))...).Insert(seen.template.Name)
	held := []infrav1.ElementalHostUpgrade{}
	for _, cluster := range seen.clusters() {
		unfinished, err := r.viewNamed(seen, cluster).Unfinished(ctx)
		if err != nil {
			return nil, err
		}
		for i := range unfinished {
			if family.Has(unfinished[i].Spec.TemplateName) {
				held = append(held, unfinished[i])
			}
		}
	}
	slices.SortFunc(held, func(a, b infrav1.ElementalHostUpgrade) int { return cmp.Compare(nodeOf(&a), nodeOf(&b)) })
	return summedUp(held, r.Owners.Clock.Now()), nil
}

// summedUp names, for each reason, the first node and how many others there are.
func summedUp(held []infrav1.ElementalHostUpgrade, now time.Time) []infrav1.UpgradeHold {
	found, others := []infrav1.UpgradeHold{}, map[infrav1.HoldReason]int{}
	for i := range held {
		for _, hold := range slices.Concat(holdsBy(infrav1.HoldByUser, &held[i]), holdsBy(infrav1.HoldByHost, &held[i])) {
			if hold.Who == infrav1.HoldByHost && now.Sub(hold.Since.Time) < silence {
				continue
			}
			if slices.ContainsFunc(found, func(known infrav1.UpgradeHold) bool { return known.Reason == hold.Reason }) {
				others[hold.Reason]++
				continue
			}
			hold.Message = fmt.Sprintf("Node %s: %s", nodeOf(&held[i]), hold.Message)
			found = append(found, hold)
		}
	}
	for i := range found {
		if more := others[found[i].Reason]; more > 0 {
			found[i].Message += fmt.Sprintf(" (and %d more)", more)
		}
	}
	return found
}

func nodeOf(attempt *infrav1.ElementalHostUpgrade) string {
	return cmp.Or(attempt.Status.NodeName, attempt.Spec.HostName)
}

// holdsBy are the holds of an attempt that an actor ends, each reason once.
func holdsBy(actor infrav1.HoldActor, attempt *infrav1.ElementalHostUpgrade) []infrav1.UpgradeHold {
	found := []infrav1.UpgradeHold{}
	for _, hold := range attempt.Status.Holds {
		isKnown := slices.ContainsFunc(found, func(known infrav1.UpgradeHold) bool { return known.Reason == hold.Reason })
		if !isKnown && hold.Who == actor {
			found = append(found, hold)
		}
	}
	return found
}

// reportHolds says what is in the way of the rollout, and then what holds attempts, once all else has been reported. Each new one is an Event, unless its
// condition has had one.
func (r *Reconciler) reportHolds(template *infrav1.ElementalMachineTemplate, attempts, former []infrav1.UpgradeHold, now time.Time) {
	template.Status.Holds = nil
	for _, hold := range slices.Concat(inTheWay(template), attempts) {
		if len(template.Status.Holds) == maxHolds {
			return
		}
		at := slices.IndexFunc(former, func(known infrav1.UpgradeHold) bool {
			return known.Reason == hold.Reason && known.Object == hold.Object
		})
		hold.Since = metav1.NewTime(now)
		switch {
		case at >= 0:
			hold.Since = former[at].Since
		case !isAnnounced(template, hold.Reason):
			r.Recorder.Eventf(template, nil, corev1.EventTypeWarning, infrav1.EventRolloutHeld, string(hold.Reason), "%s", shortened(hold.Message))
		}
		hold.Message = condition.Message(hold.Message)
		template.Status.Holds = append(template.Status.Holds, hold)
	}
}

// isAnnounced reports whether a reason is that of a condition whose changes are Events.
func isAnnounced(template *infrav1.ElementalMachineTemplate, reason infrav1.HoldReason) bool {
	return slices.ContainsFunc([]string{infrav1.OSVersionResolvedCondition, infrav1.RolloutBlockedCondition}, func(announced string) bool {
		return conditions.GetReason(template, announced) == string(reason)
	})
}

// inTheWay is what conditions say of the rollout that a user has to change.
func inTheWay(template *infrav1.ElementalMachineTemplate) []infrav1.UpgradeHold {
	found := []infrav1.UpgradeHold{}
	for _, of := range []struct {
		condition string
		status    metav1.ConditionStatus
	}{
		{infrav1.OSVersionResolvedCondition, metav1.ConditionFalse},
		{infrav1.RolloutBlockedCondition, metav1.ConditionTrue},
		{infrav1.ReferencesUpdatedCondition, metav1.ConditionFalse},
	} {
		says := conditions.Get(template, of.condition)
		if says == nil || says.Status != of.status || slices.Contains(passing, says.Reason) && of.condition == infrav1.ReferencesUpdatedCondition {
			continue
		}
		found = append(found, infrav1.UpgradeHold{Reason: infrav1.HoldReason(says.Reason), Message: says.Message, Who: infrav1.HoldByUser})
	}
	return found
}

// clusters of the template's Machines, by name.
func (o *observation) clusters() []string {
	names := sets.New[string]()
	for _, of := range o.owners {
		names.Insert(of.ClusterName())
	}
	for _, machine := range slices.Concat(o.others.direct, o.others.notDirect) {
		names.Insert(machine.Machine.Spec.ClusterName)
	}
	return sets.List(names)
}
