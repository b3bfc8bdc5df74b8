// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package clusterview

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/conditions"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/existing"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/osversion"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/owner"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/rollout"
)

// IsUnderWay reports whether the rollout of an owner has not ended: it has Machines that Cluster API has not brought to its
// template yet, or is just bringing there, or that driver Direct has not brought to what it rolls out.
func (v *View) IsUnderWay(ctx context.Context, of owner.Owner) (bool, error) {
	machines, err := v.ElementalMachines(ctx)
	if err != nil {
		return false, err
	}
	for i := range machines {
		machine := &machines[i]
		if !owner.Made(of, machine.Labels) {
			continue
		}
		if direct, err := v.IsDirectUnderWay(ctx, machine); err != nil || direct || isBehind(of, machine) {
			return true, err
		}
	}
	return false, nil
}

// IsDirectUnderWay reports whether driver Direct is bringing a machine to the content of a clone, or has not succeeded to.
func (v *View) IsDirectUnderWay(ctx context.Context, machine *infrav1.ElementalMachine) (bool, error) {
	if !owner.IsDirect(machine) {
		return false, nil
	}
	template, err := existing.Get(ctx, v.reader, &infrav1.ElementalMachineTemplate{}, v.cluster.Namespace, owner.DirectTemplate(machine), client.UnsafeDisableDeepCopy)
	return template != nil && rollout.IsClone(template), err
}

func isBehind(of owner.Owner, machine *infrav1.ElementalMachine) bool {
	if !machine.DeletionTimestamp.IsZero() {
		return false
	}
	return owner.IsUpdating(machine) || machine.Annotations[clusterv1.TemplateClonedFromNameAnnotation] != owner.TemplateName(of)
}

// UpToDate counts the machines of an owner that are not being deleted, and those of them that run the OS of the owner's template.
func (v *View) UpToDate(ctx context.Context, of owner.Owner) (upToDate, all int32, err error) {
	machines, err := v.ElementalMachines(ctx)
	for i := range machines {
		machine := &machines[i]
		if !owner.Made(of, machine.Labels) || !machine.DeletionTimestamp.IsZero() {
			continue
		}
		all++
		if !isBehind(of, machine) && RunsItsOS(machine) {
			upToDate++
		}
	}
	return upToDate, all, err
}

// RunsItsOS reports whether a machine runs the OS that it specifies. A condition about a former spec does not count: Cluster API may
// have changed the OS since it was written.
func RunsItsOS(machine *infrav1.ElementalMachine) bool {
	found := conditions.Get(machine, infrav1.OSUpToDateCondition)
	if found == nil || found.ObservedGeneration != machine.Generation {
		return false
	}
	// Whether a host runs an OS without an image cannot be told, and never will be.
	_, hasImage := osversion.Image(machine.Spec.OSVersionManagement)
	isUntold := !hasImage && osversion.Unresolved(machine.Spec.OSVersionManagement) == ""
	return found.Status == metav1.ConditionTrue || found.Status == metav1.ConditionUnknown && isUntold
}
