// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package machinetemplate

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/cluster-api/util/conditions"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/condition"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/inplace"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/owner"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/rollout"
)

// proveAction is what was tried when an event says that something is in the way.
const proveAction = "Prove"

// reportReverted says which owners were reverted, on the template and on them.
func (r *Reconciler) reportReverted(seen *observation) {
	template := seen.template
	back := seen.at(reverted)
	if len(back) == 0 {
		condition.False(template, infrav1.ReferenceRevertedCondition, infrav1.NotRevertedReason, "")
		return
	}
	message := describeAll(back) + " was reverted to this template after a change of it was rolled out, and is not pointed to a clone again. " +
		"Refer to a template with a new name where the reference is kept, or patch this template again"
	if isNews(template, infrav1.ReferenceRevertedCondition, message) {
		for _, candidate := range back {
			r.Recorder.Eventf(candidate.Object(), template, corev1.EventTypeWarning, infrav1.EventReferenceReverted, pointAction,
				"The reference was reverted to ElementalMachineTemplate %s. It is not pointed to a clone again", template.Name)
		}
	}
	condition.TrueBecause(template, infrav1.ReferenceRevertedCondition, infrav1.RevertedByOtherReason, "%s", message)
}

// reportHandled says that there is no reference left to change for us.
func (r *Reconciler) reportHandled(seen *observation) {
	template := seen.template
	reportClones(seen)
	switch back, byTopology := seen.at(reverted), seen.at(managed); {
	case len(byTopology) > 0:
		condition.False(template, infrav1.ReferencesUpdatedCondition, infrav1.ManagedByTopologyReason, "%s",
			describeAll(byTopology)+" belongs to the topology of a Cluster: change the ClusterClass or its variables instead of this template")
	case len(back) > 0:
		condition.False(template, infrav1.ReferencesUpdatedCondition, infrav1.RevertedByOtherReason, "%s",
			describeAll(back)+" was reverted to this template")
	default:
		condition.TrueBecause(template, infrav1.ReferencesUpdatedCondition, infrav1.ReferencesUpdatedReason, "")
	}
}

// reportBlocked says what is in the way of a rollout that was not begun, and what to change.
func (r *Reconciler) reportBlocked(template *infrav1.ElementalMachineTemplate, problems []inplace.Problem) {
	r.reportObstacles(template, problems)
	condition.False(template, infrav1.ReferencesUpdatedCondition, infrav1.BlockedReason,
		"Nothing is changed, because Machines would be replaced instead of updated in place")
}

// reportUnblocked says that nothing is in the way, unless there are owners that are not rolled out.
func (r *Reconciler) reportUnblocked(seen *observation) {
	if problems := seen.others.problems(); len(problems) > 0 {
		r.reportObstacles(seen.template, problems)
		return
	}
	condition.False(seen.template, infrav1.RolloutBlockedCondition, infrav1.NotBlockedReason, "")
}

// reportObstacles says what is in the way, and what to change.
func (r *Reconciler) reportObstacles(template *infrav1.ElementalMachineTemplate, problems []inplace.Problem) {
	message := inplace.Messages(problems)
	if isNews(template, infrav1.RolloutBlockedCondition, message) {
		r.Recorder.Eventf(template, nil, corev1.EventTypeWarning, infrav1.EventRolloutBlocked, proveAction, "%s", shortened(message))
	}
	condition.TrueBecause(template, infrav1.RolloutBlockedCondition, problems[0].Reason, "%s", message)
}

// reportMoving says which owners wait, or were just pointed to their clones.
func (r *Reconciler) reportMoving(seen *observation, waits []waiting, moved []string) {
	template := seen.template
	reportClones(seen)
	r.reportUnblocked(seen)
	if len(waits) > 0 {
		condition.False(template, infrav1.ReferencesUpdatedCondition, waits[0].reason, "%s", messages(waits))
		return
	}
	condition.False(template, infrav1.ReferencesUpdatedCondition, infrav1.WaitingForQuietPointReason, "%s", "Pointed "+strings.Join(moved, ", ")+" to a clone")
}

// reportClones names the clones that owners refer to.
func reportClones(seen *observation) {
	names := []string{}
	for _, candidate := range seen.owners {
		if name := owner.TemplateName(candidate); seen.clones[name] != nil && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	seen.template.Status.CurrentClone = strings.Join(names, ",")
}

// reportClone says that a clone is not the place to change anything.
func reportClone(clone *infrav1.ElementalMachineTemplate) error {
	hash, err := rollout.ContentHash(clone)
	if err != nil {
		return err
	}
	if hash == clone.Annotations[infrav1.RolledOutHashAnnotation] {
		condition.False(clone, infrav1.RolloutBlockedCondition, infrav1.NotBlockedReason, "")
		return nil
	}
	condition.TrueBecause(clone, infrav1.RolloutBlockedCondition, infrav1.CloneChangedReason,
		"This is a clone of ElementalMachineTemplate %s: change that one, which is rolled out", clone.Labels[infrav1.SourceTemplateLabel])
	return nil
}

func isNews(template *infrav1.ElementalMachineTemplate, conditionType, message string) bool {
	known := conditions.Get(template, conditionType)
	return known == nil || known.Message != message
}

func describeAll(owners []placed) string {
	names := make([]string, 0, len(owners))
	for _, candidate := range owners {
		names = append(names, owner.Describe(candidate))
	}
	return strings.Join(names, ", ")
}

// shortened fits the events API, whose notes are at most 1 kB.
func shortened(message string) string {
	const longest = 1000
	if len(message) <= longest {
		return message
	}
	return message[:longest] + "..."
}
