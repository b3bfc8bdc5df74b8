// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package machinetemplate

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/conditions"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/condition"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/rollout"
)

const (
	// maxHolds are reported, as in the API.
	maxHolds = 32
	// silence is how long what a host or a controller has to end may last before it is reported. A rollout that is under way is looked at more often.
	silence = time.Minute
)

// sameCause names the reason by which a template already reports what holds its attempts, too.
var sameCause = map[infrav1.HoldReason]infrav1.HoldReason{infrav1.HoldClusterPaused: infrav1.WaitingForClusterReason}

// renewed are the reasons that are found anew in each reconcile, also in one that fails.
var renewed = []infrav1.HoldReason{clusterv1.PausedReason, infrav1.BlockedReason}

// reportHolds says what keeps the OS from all Machines, each reason once. Each new one is an Event, unless its condition has had one.
func (r *Reconciler) reportHolds(ctx context.Context, template *infrav1.ElementalMachineTemplate, seen *observation, failed error) error {
	now, former := r.Owners.Clock.Now(), template.Status.Holds
	found, err := r.findHolds(ctx, template, seen, failed, now)
	isOneCluster := seen != nil && len(seen.clusters()) == 1
	template.Status.Holds = nil
	for _, hold := range found {
		isKnown := has(template.Status.Holds, hold.Reason) || isOneCluster && has(template.Status.Holds, sameCause[hold.Reason])
		if isKnown || len(template.Status.Holds) == maxHolds {
			continue
		}
		at := slices.IndexFunc(former, func(known infrav1.UpgradeHold) bool { return known.Reason == hold.Reason })
		switch {
		case at >= 0:
			hold.Since = former[at].Since
		case !isAnnounced(template, hold.Reason):
			r.Recorder.Eventf(template, nil, corev1.EventTypeWarning, infrav1.EventRolloutHeld, string(hold.Reason), "%s", shortened(hold.Message))
		}
		if hold.Since.IsZero() {
			hold.Since = metav1.NewTime(now)
		}
		hold.Message = condition.Message(hold.Message)
		template.Status.Holds = append(template.Status.Holds, hold)
	}
	return err
}

// findHolds are what conditions say, what owners wait for, and what holds Machines. What could not be looked at, because of the error of this reconcile,
// stays as it was.
func (r *Reconciler) findHolds(
	ctx context.Context, template *infrav1.ElementalMachineTemplate, seen *observation, failed error, now time.Time,
) (found []infrav1.UpgradeHold, err error) {
	former := template.Status.Holds
	found = holdsByConditions(template)
	if seen != nil {
		var held []infrav1.UpgradeHold
		held, err = r.heldMachines(ctx, seen, now)
		found = slices.Concat(found, r.heldOwners(seen, former, now), held)
	}
	if failed != nil || err != nil {
		found = append(found, slices.DeleteFunc(slices.Clone(former), func(hold infrav1.UpgradeHold) bool {
			return isAnnounced(template, hold.Reason) || slices.Contains(renewed, hold.Reason) || !seen.missed(hold, err)
		})...)
	}
	if failed != nil && len(found) == 0 && !apierrors.IsConflict(failed) {
		found = append(found, heldBecause(infrav1.BlockedReason, "", failure(failed).message))
	}
	return found, err
}

// missed reports whether a pass that has failed has not looked at what a hold is for: nothing was looked at, or the owner it is that of was not, or the
// Machines could not be.
func (o *observation) missed(hold infrav1.UpgradeHold, machines error) bool {
	if o == nil || machines != nil {
		return true
	}
	return !o.moves && slices.ContainsFunc(o.owners, func(of placed) bool { return objectOf(of) == hold.Object })
}

func has(holds []infrav1.UpgradeHold, reason infrav1.HoldReason) bool {
	return slices.ContainsFunc(holds, func(hold infrav1.UpgradeHold) bool { return hold.Reason == reason })
}

// isAnnounced reports whether a reason is that of a condition whose changes are Events, or of a clone, which is not the place to act.
func isAnnounced(template *infrav1.ElementalMachineTemplate, reason infrav1.HoldReason) bool {
	announced := []string{infrav1.OSVersionResolvedCondition, infrav1.RolloutBlockedCondition, infrav1.ReferenceRevertedCondition}
	return rollout.IsClone(template) || slices.ContainsFunc(announced, func(of string) bool { return conditions.GetReason(template, of) == string(reason) })
}

// holdsByConditions are what conditions say of the template as it is now.
func holdsByConditions(template *infrav1.ElementalMachineTemplate) []infrav1.UpgradeHold {
	found := []infrav1.UpgradeHold{}
	for _, of := range []struct {
		condition string
		status    metav1.ConditionStatus
		// reasons are those that count; none: any does.
		reasons []string
	}{
		{infrav1.OSVersionResolvedCondition, metav1.ConditionFalse, nil},
		{infrav1.RolloutBlockedCondition, metav1.ConditionTrue, nil},
		{infrav1.ReferenceRevertedCondition, metav1.ConditionTrue, nil},
		{infrav1.ReferencesUpdatedCondition, metav1.ConditionFalse, []string{infrav1.ManagedByTopologyReason, infrav1.BlockedReason}},
	} {
		says := conditions.Get(template, of.condition)
		switch {
		case says == nil || says.Status != of.status || says.ObservedGeneration != template.Generation:
		case of.reasons != nil && !slices.Contains(of.reasons, says.Reason):
		case says.Reason == infrav1.BlockedReason && len(found) > 0: // by what is said already
		default:
			found = append(found, heldBecause(says.Reason, "", says.Message))
		}
	}
	return found
}

// heldBecause is a hold for the reason of a condition.
func heldBecause(reason, object, message string) infrav1.UpgradeHold {
	hold := *infrav1.NewHold(infrav1.HoldReason(reason), object, message)
	if reason == infrav1.WaitingForQuietPointReason || reason == infrav1.WaitingForMachineReason {
		hold.Who = infrav1.HoldByCluster
	}
	return hold
}

// waitOf is what an owner of a template waits for, by others, in the rollout of a clone.
type waitOf struct {
	template      types.UID
	object, clone string
}

// heldOwners are what owners wait for, each reason once, that of the first owner. What others end is reported once it has lasted.
func (r *Reconciler) heldOwners(seen *observation, former []infrav1.UpgradeHold, now time.Time) []infrav1.UpgradeHold {
	found := tally{}
	for _, why := range seen.waits {
		hold := heldBecause(why.reason, why.object, why.message)
		if why.byOthers {
			hold.Who = infrav1.HoldByCluster
		}
		since := r.waited.Look(waitOf{seen.template.UID, why.object, why.clone}, why.reason, now).Since
		if hold.Who != infrav1.HoldByCluster || now.Sub(since) >= silence {
			found.add(hold)
		}
	}
	for _, known := range former {
		isKept := slices.ContainsFunc(seen.waits, func(why waiting) bool { return why.keeps(known) })
		if isKept && !has(found.holds, known.Reason) {
			found.add(known)
		}
	}
	return found.counted()
}

// keeps reports whether an owner still waits for what it waited for before: it was not looked at, or is about to be changed again.
func (w waiting) keeps(known infrav1.UpgradeHold) bool {
	if w.unlooked {
		return known.Object == w.object || strings.HasSuffix(known.Message, " more)")
	}
	isRetried := known.Reason == infrav1.ChangeRefusedReason || known.Reason == infrav1.BlockedReason
	return isRetried && w.reason == infrav1.WaitingForQuietPointReason && known.Object == w.object
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

// reportPaused says that a changed template is not rolled out while it is paused. What holds attempts that have begun stays as it was.
func reportPaused(template *infrav1.ElementalMachineTemplate, now time.Time) {
	done := conditions.Get(template, infrav1.RolledOutCondition)
	if rollout.IsClone(template) || done != nil && done.Status == metav1.ConditionTrue && done.ObservedGeneration == template.Generation {
		return
	}
	hold := *infrav1.NewHold(clusterv1.PausedReason, "", fmt.Sprintf(
		"ElementalMachineTemplate %s is paused: remove its annotation %s", template.Name, clusterv1.PausedAnnotation))
	hold.Since = metav1.NewTime(now)
	others := []infrav1.UpgradeHold{}
	for _, known := range template.Status.Holds {
		switch {
		case known.Reason == hold.Reason:
			hold.Since = known.Since
		case len(others) < maxHolds-1:
			others = append(others, known)
		}
	}
	template.Status.Holds, template.Status.EstimatedCompletionTime = append([]infrav1.UpgradeHold{hold}, others...), nil
	if updated := conditions.Get(template, infrav1.ReferencesUpdatedCondition); updated != nil && updated.ObservedGeneration != template.Generation {
		condition.Unknown(template, infrav1.RolledOutCondition, clusterv1.PausedReason, "%s", hold.Message)
	}
}
