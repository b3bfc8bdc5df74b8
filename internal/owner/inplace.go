// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package owner

import (
	"context"
	"fmt"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
	controlplanev1 "sigs.k8s.io/cluster-api/api/controlplane/kubeadm/v1beta2"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
)

// minControlPlaneReplicas is the minimum at which a KubeadmControlPlane may have maxSurge 0, without which it replaces Machines, and at
// which etcd keeps its majority while one node reboots.
// Source: webhook of KubeadmControlPlane, Cluster API 1.14.
const minControlPlaneReplicas = 3

// rollingUpdate is the strategy of control planes, of whatever kind, that updates in place.
const rollingUpdate = string(controlplanev1.RollingUpdateStrategyType)

// ReplacesInstead describes what in an owner makes Cluster API replace its Machines instead of updating
// them in place, and what to change; it is empty if nothing does.
func (o *Owners) ReplacesInstead(ctx context.Context, of Owner) (string, error) {
	switch kind := of.(type) {
	case machineDeployment:
		return o.machineDeploymentReplaces(ctx, kind)
	case ControlPlane:
		return o.controlPlaneReplaces(ctx, kind)
	}
	return Describe(of) + " is of a kind that is not known to update in place", nil
}

func (o *Owners) machineDeploymentReplaces(ctx context.Context, md machineDeployment) (string, error) {
	strategy := md.Spec.Rollout.Strategy
	if strategy.Type != "" && strategy.Type != clusterv1.RollingUpdateMachineDeploymentStrategyType {
		return fmt.Sprintf("%s has spec.rollout.strategy.type %s: set RollingUpdate", Describe(md), strategy.Type), nil
	}
	if !isZero(strategy.RollingUpdate.MaxSurge) {
		return fmt.Sprintf("%s has spec.rollout.strategy.rollingUpdate.maxSurge %s: set maxSurge 0 and maxUnavailable 1",
			Describe(md), describeSurge(strategy.RollingUpdate.MaxSurge)), nil
	}
	if md.Spec.Rollout.After.IsZero() {
		return "", nil
	}
	sets, err := o.MachineSets(ctx, md.MachineDeployment)
	if err != nil {
		return "", err
	}
	for i := range sets {
		if ptr.Deref(sets[i].Status.Replicas, 0) > 0 && sets[i].CreationTimestamp.Before(&md.Spec.Rollout.After) {
			return afterMessage(md), nil
		}
	}
	return "", nil
}

func (o *Owners) controlPlaneReplaces(ctx context.Context, of ControlPlane) (string, error) {
	strategy := of.strategy()
	if replicas := of.Replicas(); replicas < minControlPlaneReplicas {
		// Its maxSurge alone must not be changed: Cluster API would reject that.
		return fmt.Sprintf("%s has spec.replicas %d and cannot be updated in place by Cluster API, %s: "+
			"leave its reference as it is and patch the ElementalMachineTemplate that it refers to, or set spec.replicas %d and %s.rollingUpdate.maxSurge 0",
			Describe(of), replicas, strategy.tooFew, minControlPlaneReplicas, strategy.field), nil
	}
	problems := []string{}
	if strategy.kind != "" && strategy.kind != rollingUpdate {
		problems = append(problems, fmt.Sprintf("has %s.type %s: set %s", strategy.field, strategy.kind, rollingUpdate))
	}
	if !isZero(strategy.maxSurge) {
		problems = append(problems, fmt.Sprintf("has %s.rollingUpdate.maxSurge %s: set maxSurge 0", strategy.field, describeSurge(strategy.maxSurge)))
	}
	if len(problems) > 0 {
		return Describe(of) + " " + strings.Join(problems, "; "), nil
	}
	if strategy.after.IsZero() {
		return "", nil
	}
	machines, err := o.MachineMetadata(ctx, of)
	if err != nil {
		return "", err
	}
	if anyBefore(machines, &strategy.after) {
		return afterMessage(of), nil
	}
	return "", nil
}

func anyBefore(objects []metav1.PartialObjectMetadata, moment *metav1.Time) bool {
	for i := range objects {
		if objects[i].CreationTimestamp.Before(moment) {
			return true
		}
	}
	return false
}

func afterMessage(of Owner) string {
	return Describe(of) + " has a spec.rollout.after that is later than some of its Machines: let that rollout end, or remove the field"
}

// isZero evaluates maxSurge. Unset means Cluster API's default of 1; a percentage other than 0 is
// rounded up.
func isZero(surge *intstr.IntOrString) bool {
	if surge == nil {
		return false
	}
	if surge.Type == intstr.Int {
		return surge.IntVal == 0
	}
	return strings.TrimLeft(strings.TrimSuffix(surge.StrVal, "%"), "0") == ""
}

func describeSurge(surge *intstr.IntOrString) string {
	if surge == nil {
		return "1 by default"
	}
	return surge.String()
}
