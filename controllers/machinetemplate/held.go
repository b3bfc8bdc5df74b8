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
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/conditions"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/condition"
)

const (
	// maxHolds are reported, as in the API.
	maxHolds = 32
	// silence is how long what a host or a controller has to end may last before it is reported. A rollout that is under way is looked at more often.
	silence = time.Minute
)

// sameCause names the reason by which a template already reports what holds its attempts, too.
var sameCause = map[infrav1.HoldReason]infrav1.HoldReason{
	infrav1.HoldClusterPaused: infrav1.WaitingForClusterReason, infrav1.HoldRolloutStopped: infrav1.AttemptNotSucceededReason,
}

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

// findHolds are what conditions say, and what holds Machines. What could not be looked at, because of the error of this reconcile,
// stays as it was.
func (r *Reconciler) findHolds(
	ctx context.Context, template *infrav1.ElementalMachineTemplate, seen *observation, failed error, now time.Time,
) (found []infrav1.UpgradeHold, err error) {
	former := template.Status.Holds
	found = holdsByConditions(template)
	if seen != nil {
		var held []infrav1.UpgradeHold
		held, err = r.heldMachines(ctx, seen, now)
		found = append(found, held...)
	}
	if failed != nil || err != nil {
		found = append(found, slices.DeleteFunc(slices.Clone(former), func(hold infrav1.UpgradeHold) bool {
			return isAnnounced(template, hold.Reason) || slices.Contains(renewed, hold.Reason) || seen != nil && err == nil
		})...)
	}
	if isHeldByError(failed, found, seen) {
		found = append(found, heldBecause(infrav1.BlockedReason, "", shortened(strings.ReplaceAll(failed.Error(), "\n", "; "))))
	}
	return found, err
}

// isHeldByError reports whether the error of this reconcile has to be said: nothing else holds the template, or not all Clusters were looked at.
func isHeldByError(failed error, found []infrav1.UpgradeHold, seen *observation) bool {
	return failed != nil && !apierrors.IsConflict(failed) && (len(found) == 0 || seen != nil && !seen.complete)
}

func has(holds []infrav1.UpgradeHold, reason infrav1.HoldReason) bool {
	return slices.ContainsFunc(holds, func(hold infrav1.UpgradeHold) bool { return hold.Reason == reason })
}

// isAnnounced reports whether a reason is that of a condition whose changes are Events.
func isAnnounced(template *infrav1.ElementalMachineTemplate, reason infrav1.HoldReason) bool {
	announced := []string{infrav1.OSVersionResolvedCondition, infrav1.RolloutBlockedCondition}
	return slices.ContainsFunc(announced, func(of string) bool { return conditions.GetReason(template, of) == string(reason) })
}

// holdsByConditions are what conditions say of the template as it is now.
func holdsByConditions(template *infrav1.ElementalMachineTemplate) []infrav1.UpgradeHold {
	found := []infrav1.UpgradeHold{}
	for _, of := range []struct {
		condition string
		status    metav1.ConditionStatus
	}{
		{infrav1.OSVersionResolvedCondition, metav1.ConditionFalse},
		{infrav1.RolloutBlockedCondition, metav1.ConditionTrue},
	} {
		says := conditions.Get(template, of.condition)
		if says != nil && says.Status == of.status && says.ObservedGeneration == template.Generation {
			found = append(found, heldBecause(says.Reason, "", says.Message))
		}
	}
	return found
}

// heldBecause is a hold for the reason of a condition.
func heldBecause(reason, object, message string) infrav1.UpgradeHold {
	hold := *infrav1.NewHold(infrav1.HoldReason(reason), object, message)
	if reason == infrav1.WaitingForMachineReason {
		hold.Who = infrav1.HoldByCluster
	}
	return hold
}

// reportPaused says that a changed template is not rolled out while it is paused. What holds attempts that have begun stays as it was.
func reportPaused(template *infrav1.ElementalMachineTemplate, now time.Time) {
	done := conditions.Get(template, infrav1.RolledOutCondition)
	if done != nil && done.Status == metav1.ConditionTrue && done.ObservedGeneration == template.Generation {
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
	if done != nil && done.ObservedGeneration != template.Generation {
		condition.Unknown(template, infrav1.RolledOutCondition, clusterv1.PausedReason, "%s", hold.Message)
	}
}
