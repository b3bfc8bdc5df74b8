// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package owner

import (
	"context"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
)

// Between says whether Cluster API may be about to take the next Machine of a rollout, and is empty where it is not: the
// rollout is over, as many Machines as may be at once are held in their updates, the owner is held, or nothing has been
// written for so long that the rollout hardly goes on by itself. It is for those who change a reference without Hold, at a
// quiet point: what they change in between two Machines may meet the next one half-way.
func (o *Owners) Between(ctx context.Context, of Owner) (string, error) {
	fresh, err := o.reload(ctx, of)
	if err != nil {
		return "", err
	}
	md, isMachineDeployment := fresh.(machineDeployment)
	if !isMachineDeployment || isHeld(md) {
		return "", nil
	}
	sets, machines, err := o.parts(ctx, md)
	if err != nil {
		return "", err
	}
	behind := slices.IndexFunc(sets, func(set clusterv1.MachineSet) bool {
		has := ptr.Deref(set.Spec.Replicas, 0) > 0 || remaining(&set, machines) > 0
		return has && set.Spec.Template.Spec.InfrastructureRef != *md.reference()
	})
	if behind < 0 || !o.goesOn(md, sets) || len(withAnnotation(machines, clusterv1.UpdateInProgressAnnotation)) >= atOnce(md) {
		return "", nil
	}
	return fmt.Sprintf("%s is in the middle of a rollout, and Cluster API is about to take the next Machine from MachineSet %s",
		Describe(md), sets[behind].Name), nil
}

// goesOn says whether Cluster API has written to a MachineDeployment or one of its MachineSets of late.
func (o *Owners) goesOn(md machineDeployment, sets []clusterv1.MachineSet) bool {
	return o.writtenRecently(md.MachineDeployment) ||
		slices.ContainsFunc(sets, func(set clusterv1.MachineSet) bool { return o.writtenRecently(&set) })
}

// atOnce is how many Machines Cluster API updates at the same time: maxUnavailable, at least one.
func atOnce(md machineDeployment) int {
	unavailable := md.Spec.Rollout.Strategy.RollingUpdate.MaxUnavailable
	resolved, err := intstr.GetScaledValueFromIntOrPercent(intstr.ValueOrDefault(unavailable, intstr.FromInt32(0)), int(ptr.Deref(md.Spec.Replicas, 0)), false)
	if err != nil { // the API server validates it
		return 1
	}
	return max(1, resolved)
}
