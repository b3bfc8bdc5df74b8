// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package owner

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	controlplanev1 "sigs.k8s.io/cluster-api/api/controlplane/kubeadm/v1beta2"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/conditions"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/rke2"
)

// Conditions of a Machine that KubeadmControlPlane and CAPRKE2 check before they update the next one. Source: preflight checks of
// KubeadmControlPlane, Cluster API 1.14, and of CAPRKE2 v0.25, whose etcd condition has the name of Cluster API's.
var (
	componentConditions = []string{
		controlplanev1.KubeadmControlPlaneMachineAPIServerPodHealthyCondition,
		controlplanev1.KubeadmControlPlaneMachineControllerManagerPodHealthyCondition,
		controlplanev1.KubeadmControlPlaneMachineSchedulerPodHealthyCondition,
	}
	// etcdConditions are absent with external etcd.
	etcdConditions = []string{
		controlplanev1.KubeadmControlPlaneMachineEtcdPodHealthyCondition,
		controlplanev1.KubeadmControlPlaneMachineEtcdMemberHealthyCondition,
	}
)

// judged are all of these conditions, in a fixed order.
var judged = slices.Concat(componentConditions, []string{rke2.AgentHealthyCondition}, etcdConditions)

// Unhealthy returns those of these conditions that a Machine has and that are not True, in a fixed order. It is empty for a Machine of
// another kind of control plane.
func Unhealthy(machine *clusterv1.Machine) []string {
	found := []string{}
	for _, name := range judged {
		condition := conditions.Get(machine, name)
		if condition != nil && condition.Status != metav1.ConditionTrue {
			found = append(found, name)
		}
	}
	return found
}

// Judged returns the statuses of these conditions, by their names.
func Judged(machine *clusterv1.Machine) map[string]metav1.ConditionStatus {
	found := map[string]metav1.ConditionStatus{}
	for _, name := range judged {
		if condition := conditions.Get(machine, name); condition != nil {
			found[name] = condition.Status
		}
	}
	return found
}

// HasExternalEtcd reports whether KubeadmControlPlane has judged a Machine, and sets no condition of etcd, as where that is external.
// Source: Cluster API 1.14.2, controlplane/kubeadm/pkg/workload_cluster_conditions.go (updateExternalEtcdConditions); all conditions of a Machine are
// written at once (PatchMachines).
func HasExternalEtcd(machine *clusterv1.Machine) bool {
	is := func(name string) bool { return conditions.Get(machine, name) != nil }
	return !slices.ContainsFunc(componentConditions, func(name string) bool { return !is(name) }) && !slices.ContainsFunc(etcdConditions, is)
}

// Unjudged is the first of the conditions that a control plane sets on every Machine and has not set on this one yet, or empty. Those
// that KubeadmControlPlane sets for etcd are ignored, because they are absent with external etcd.
func Unjudged(of ControlPlane, machine *clusterv1.Machine) string {
	for _, name := range of.healthConditions() {
		if conditions.Get(machine, name) == nil {
			return name
		}
	}
	return ""
}
