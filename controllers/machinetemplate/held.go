// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package machinetemplate

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/conditions"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/attempts"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/clusterview"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/condition"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/owner"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/rollout"
)

const (
	// maxHolds are reported, as in the API.
	maxHolds = 32
	// silence is how long what a host or a controller has to end may last before it is reported. A rollout that is under way is looked at more often.
	silence = time.Minute
	// rolloutAction is what is held when an event says so.
	rolloutAction = "Rollout"
)

// sameCause names the reason by which a template already reports what holds its attempts, too.
var sameCause = map[infrav1.HoldReason]infrav1.HoldReason{
	infrav1.HoldClusterPaused:       infrav1.WaitingForClusterReason,
	infrav1.HoldNamespaceNotOptedIn: infrav1.ExtensionNotMatchingReason,
}

// lasting are the reasons of attempts' holds that other controllers end within moments, or else a user.
var lasting = []infrav1.HoldReason{infrav1.HoldClusterUnreachable, infrav1.HoldNodeMissing, infrav1.HoldOwnerUnreadable}

// reportHolds says what keeps the OS from all Machines: what conditions say, what owners wait for, and what holds attempts, each reason once. Each new one
// is an Event, unless its condition has had one. What could not be looked at stays as it was.
func (r *Reconciler) reportHolds(ctx context.Context, template *infrav1.ElementalMachineTemplate, seen *observation) error {
	now, former := r.Owners.Clock.Now(), template.Status.Holds
	found := holdsByConditions(template)
	var err error
	if seen != nil {
		var held []infrav1.UpgradeHold
		if held, err = r.heldAttempts(ctx, seen, now); err != nil {
			held = former
		}
		found = slices.Concat(found, r.heldOwners(seen, former, now), held)
	}
	template.Status.Holds = nil
	for _, hold := range found {
		if has(template.Status.Holds, hold.Reason) || has(template.Status.Holds, sameCause[hold.Reason]) || len(template.Status.Holds) == maxHolds {
			continue
		}
		at := slices.IndexFunc(former, func(known infrav1.UpgradeHold) bool { return known.Reason == hold.Reason })
		switch {
		case at >= 0:
			hold.Since = former[at].Since
		case !isAnnounced(template, hold.Reason):
			r.Recorder.Eventf(template, nil, corev1.EventTypeWarning, infrav1.EventRolloutHeld, rolloutAction, "%s", shortened(hold.Message))
		}
		if hold.Since.IsZero() {
			hold.Since = metav1.NewTime(now)
		}
		hold.Message = condition.Message(hold.Message)
		template.Status.Holds = append(template.Status.Holds, hold)
	}
	return err
}

func has(holds []infrav1.UpgradeHold, reason infrav1.HoldReason) bool {
	return slices.ContainsFunc(holds, func(hold infrav1.UpgradeHold) bool { return hold.Reason == reason })
}

// isAnnounced reports whether a reason is that of a condition whose changes are Events, or ends by itself as a rule, or is that of a clone, which is not the
// place to act.
func isAnnounced(template *infrav1.ElementalMachineTemplate, reason infrav1.HoldReason) bool {
	announced := []string{infrav1.OSVersionResolvedCondition, infrav1.RolloutBlockedCondition, infrav1.ReferenceRevertedCondition}
	return reason == infrav1.WaitingForQuietPointReason || rollout.IsClone(template) || slices.ContainsFunc(announced, func(of string) bool { return conditions.GetReason(template, of) == string(reason) })
}

// holdsByConditions are what conditions say of the template as it is now.
func holdsByConditions(template *infrav1.ElementalMachineTemplate) []infrav1.UpgradeHold {
	found := []infrav1.UpgradeHold{}
	for _, of := range []struct {
		condition string
		status    metav1.ConditionStatus
		// reason is the only one that counts; empty: any does.
		reason string
	}{
		{infrav1.OSVersionResolvedCondition, metav1.ConditionFalse, ""},
		{infrav1.RolloutBlockedCondition, metav1.ConditionTrue, ""},
		{infrav1.ReferenceRevertedCondition, metav1.ConditionTrue, ""},
		{infrav1.ReferencesUpdatedCondition, metav1.ConditionFalse, infrav1.ManagedByTopologyReason},
	} {
		says := conditions.Get(template, of.condition)
		if says == nil || says.Status != of.status || says.ObservedGeneration != template.Generation || of.reason != "" && says.Reason != of.reason {
			continue
		}
		found = append(found, heldBecause(says.Reason, "", says.Message))
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

// heldOwners are what owners wait for, each reason once, that of the first owner. An owner waits for a quiet point for moments, as a rule.
func (r *Reconciler) heldOwners(seen *observation, former []infrav1.UpgradeHold, now time.Time) []infrav1.UpgradeHold {
	updated := conditions.Get(seen.template, infrav1.ReferencesUpdatedCondition)
	isLasting := updated != nil && updated.Status == metav1.ConditionFalse && now.Sub(updated.LastTransitionTime.Time) >= silence
	found, others := []infrav1.UpgradeHold{}, map[infrav1.HoldReason]int{}
	for _, why := range seen.waits {
		hold := heldBecause(why.reason, why.object, why.message)
		switch {
		case why.reason == infrav1.WaitingForQuietPointReason && !isLasting:
		case has(found, hold.Reason):
			others[hold.Reason]++
		default:
			found = append(found, hold)
		}
	}
	for _, known := range former {
		if slices.Contains(seen.unlooked, known.Object) && !has(found, known.Reason) {
			found = append(found, known)
		}
	}
	return counted(found, others)
}

// heldAttempts are what holds the attempts for the template and its clones and a user ends, or others have not ended for a minute: each reason once, that of
// the first node by name, since it was first found on any.
func (r *Reconciler) heldAttempts(ctx context.Context, seen *observation, now time.Time) ([]infrav1.UpgradeHold, error) {
	held := []infrav1.ElementalHostUpgrade{}
	for _, cluster := range seen.clusters() {
		unsettled, err := attempts.Unsettled(ctx, r.Client, client.ObjectKey{Namespace: seen.template.Namespace, Name: cluster})
		if err != nil {
			return nil, err
		}
		for i := range unsettled {
			isCurrent, err := r.isCurrent(ctx, seen, &unsettled[i])
			if err != nil {
				return nil, err
			}
			if isCurrent {
				held = append(held, unsettled[i])
			}
		}
	}
	slices.SortFunc(held, func(a, b infrav1.ElementalHostUpgrade) int {
		return cmp.Or(cmp.Compare(nodeOf(&a), nodeOf(&b)), cmp.Compare(a.Name, b.Name))
	})
	return summedUp(held, now), nil
}

// isCurrent reports whether an attempt says something of the rollout: it has not ended, or it is the last one of a Machine that does not run its OS. How
// those end that no reference rolls out is reported with their owners.
func (r *Reconciler) isCurrent(ctx context.Context, seen *observation, attempt *infrav1.ElementalHostUpgrade) (bool, error) {
	name := attempt.Spec.TemplateName
	if name != seen.template.Name && seen.clones[name] == nil {
		return false, nil
	}
	if phase := attempt.PhaseNow(); phase.IsActive() || phase == infrav1.UpgradeHostLost || owner.WithoutReference(attempt.Spec.Driver) {
		return !phase.IsEnd(), nil
	}
	view := r.viewNamed(seen, attempt.Spec.ClusterName)
	machine, err := view.ElementalMachine(ctx, attempt.Spec.ElementalMachineName)
	if err != nil || machine == nil || !machine.DeletionTimestamp.IsZero() || clusterview.RunsItsOS(machine) {
		return false, err
	}
	newest, err := view.NewestAttempt(ctx, machine.Name)
	return newest != nil && newest.UID == attempt.UID, err
}

// summedUp names, for each reason, the first node and how many others there are.
func summedUp(held []infrav1.ElementalHostUpgrade, now time.Time) []infrav1.UpgradeHold {
	found, others := []infrav1.UpgradeHold{}, map[infrav1.HoldReason]int{}
	for i := range held {
		for _, hold := range toEnd(&held[i], now) {
			at := slices.IndexFunc(found, func(known infrav1.UpgradeHold) bool { return known.Reason == hold.Reason })
			if at >= 0 {
				others[hold.Reason]++
				if hold.Since.Before(&found[at].Since) {
					found[at].Since = hold.Since
				}
				continue
			}
			if node := "Node " + nodeOf(&held[i]); !strings.HasPrefix(hold.Message, node) {
				hold.Message = node + ": " + hold.Message
			}
			found = append(found, hold)
		}
	}
	return counted(found, others)
}

// counted says how many others each hold is that of.
func counted(holds []infrav1.UpgradeHold, others map[infrav1.HoldReason]int) []infrav1.UpgradeHold {
	for i := range holds {
		if more := others[holds[i].Reason]; more > 0 {
			holds[i].Message += fmt.Sprintf(" (and %d more)", more)
		}
	}
	return holds
}

func nodeOf(attempt *infrav1.ElementalHostUpgrade) string {
	return cmp.Or(attempt.Status.NodeName, attempt.Spec.HostName)
}

// toEnd are the holds of an attempt that are reported on its template, each reason once; of one that has ended, how.
func toEnd(attempt *infrav1.ElementalHostUpgrade, now time.Time) []infrav1.UpgradeHold {
	if attempt.PhaseNow().IsEnd() {
		hold := heldBecause(infrav1.AttemptNotSucceededReason, "ElementalHostUpgrade/"+attempt.Name,
			fmt.Sprintf("the upgrade has ended as %s: %s", attempt.PhaseNow(), attempt.Status.Message))
		if attempt.Status.FinishedAt != nil {
			hold.Since = *attempt.Status.FinishedAt
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

// clusters of the template's Machines, by name.
func (o *observation) clusters() []string {
	names := sets.New[string]()
	for _, of := range o.owners {
		names.Insert(of.ClusterName())
	}
	for _, machine := range slices.Concat(o.others.direct, o.others.notDirect) {
		names.Insert(machine.Machine.Spec.ClusterName)
	}
	return slices.Sorted(maps.Keys(names))
}

// reportPaused says that a changed template is not rolled out while it is paused.
func reportPaused(template *infrav1.ElementalMachineTemplate, now time.Time) {
	hold := *infrav1.NewHold(clusterv1.PausedReason, "", fmt.Sprintf(
		"ElementalMachineTemplate %s is paused: remove its annotation %s", template.Name, clusterv1.PausedAnnotation))
	hold.Since = metav1.NewTime(now)
	if known := template.Status.Holds; len(known) > 0 && known[0].Reason == hold.Reason {
		hold.Since = known[0].Since
	}
	template.Status.Holds = []infrav1.UpgradeHold{hold}
	if updated := conditions.Get(template, infrav1.ReferencesUpdatedCondition); updated != nil && updated.ObservedGeneration != template.Generation {
		condition.Unknown(template, infrav1.RolledOutCondition, clusterv1.PausedReason, "%s", hold.Message)
	}
}
