// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package owner

import (
	"context"
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	controlplanev1 "sigs.k8s.io/cluster-api/api/controlplane/kubeadm/v1beta2"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/conditions"
)

// Conditions of a Machine by which KubeadmControlPlane judges it before it touches the next one.
// Source: preflight checks of KubeadmControlPlane, Cluster API 1.14.
var (
	componentConditions = []string{
		controlplanev1.KubeadmControlPlaneMachineAPIServerPodHealthyCondition,
		controlplanev1.KubeadmControlPlaneMachineControllerManagerPodHealthyCondition,
		controlplanev1.KubeadmControlPlaneMachineSchedulerPodHealthyCondition,
	}
	// etcdConditions are not there where etcd is external.
	etcdConditions = []string{
		controlplanev1.KubeadmControlPlaneMachineEtcdPodHealthyCondition,
		controlplanev1.KubeadmControlPlaneMachineEtcdMemberHealthyCondition,
	}
)

// Unhealthy returns those of KubeadmControlPlane's conditions that a Machine has and that are not True, in a fixed
// order. It is empty for a Machine of another kind of control plane.
func Unhealthy(machine *clusterv1.Machine) []string {
	found := []string{}
	for _, name := range slices.Concat(componentConditions, etcdConditions) {
		condition := conditions.Get(machine, name)
		if condition != nil && condition.Status != metav1.ConditionTrue {
			found = append(found, name)
		}
	}
	return found
}

// controlPlaneQuiet: of the Machines that a KubeadmControlPlane wants to change it takes an unhealthy one first, and
// when only that one is unhealthy it deletes it instead of updating it. One that is held in its update is left alone,
// and the way out of a bad update is another reference. While one is being deleted it does nothing else.
func (o *Owners) controlPlaneQuiet(ctx context.Context, kcp kubeadmControlPlane) (string, error) {
	if reason := o.unobserved(kcp, kcp.Status.ObservedGeneration); reason != "" {
		return reason, nil
	}
	machines, err := o.controlPlaneMachines(ctx, kcp)
	if err != nil {
		return "", err
	}
	for i := range machines {
		if reason := machineQuiet(&machines[i]); reason != "" {
			return reason, nil
		}
	}
	return "", nil
}

// controlPlaneMachines are those of a KubeadmControlPlane, live, by name.
func (o *Owners) controlPlaneMachines(ctx context.Context, kcp kubeadmControlPlane) ([]clusterv1.Machine, error) {
	return listMachines(ctx, o.Live, kcp.Namespace, Describe(kcp), machineLabels(kcp))
}

func machineQuiet(machine *clusterv1.Machine) string {
	_, held := machine.Annotations[clusterv1.UpdateInProgressAnnotation]
	switch {
	case held, !machine.DeletionTimestamp.IsZero():
		return ""
	case !machine.Status.NodeRef.IsDefined():
		return fmt.Sprintf("Machine %s has no Node yet", machine.Name)
	}
	for _, name := range componentConditions {
		if conditions.Get(machine, name) == nil {
			return fmt.Sprintf("Machine %s has no condition %s yet", machine.Name, name)
		}
	}
	if unhealthy := Unhealthy(machine); len(unhealthy) > 0 {
		return fmt.Sprintf("Machine %s is unhealthy (%s), and KubeadmControlPlane deletes such a Machine instead of updating it: repair its node first",
			machine.Name, strings.Join(unhealthy, ", "))
	}
	return ""
}
