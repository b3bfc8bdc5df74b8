// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package clusterview

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/cluster-api/util/conditions"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/osversion"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/owner"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/rollout"
)

// Rotation counts the machines of an owner that Cluster API has not brought to the owner's template, and reports whether there are such, or it is just
// bringing one there.
func (v *View) Rotation(ctx context.Context, of owner.Owner) (behind int32, isRotating bool, err error) {
	machines, err := v.ElementalMachines(ctx)
	for i := range machines {
		machine := &machines[i]
		if !owner.Made(of, machine.Labels) || !machine.DeletionTimestamp.IsZero() {
			continue
		}
		if owner.MadeFrom(machine) != owner.TemplateName(of) {
			behind++
		}
		isRotating = isRotating || behind > 0 || owner.IsUpdating(machine)
	}
	return behind, isRotating, err
}

// CurrentRollout of a template to the Cluster; nil if there is none. See rollout.Current.
func (v *View) CurrentRollout(ctx context.Context, template *infrav1.ElementalMachineTemplate) (*infrav1.ElementalRollout, error) {
	if known, isKnown := v.rollouts[template.Name]; isKnown {
		return known, nil
	}
	found, err := rollout.CurrentOf(ctx, v.reader, template, v.cluster.Name)
	if err != nil {
		return nil, err
	}
	if v.rollouts == nil {
		v.rollouts = map[string]*infrav1.ElementalRollout{}
	}
	v.rollouts[template.Name] = found
	return found, nil
}

// RunsItsOS reports whether a machine runs the OS that it specifies. A condition about a former spec does not count: Cluster API may
// have changed the OS since it was written.
func RunsItsOS(machine *infrav1.ElementalMachine) bool {
	found := conditions.Get(machine, infrav1.OSUpToDateCondition)
	if found == nil || found.ObservedGeneration != machine.Generation {
		return false
	}
	// Whether a host runs an OS without an image cannot be told, and never will be.
	isUntold := osversion.Image(machine.Spec.OSVersionManagement) == "" && osversion.Unresolved(machine.Spec.OSVersionManagement) == ""
	return found.Status == metav1.ConditionTrue || found.Status == metav1.ConditionUnknown && isUntold
}
