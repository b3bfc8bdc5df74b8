// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package rancher

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
)

// poolObjects are the bootstrap template and the MachineDeployment of a pool, which refers to the given template of machines as it is.
func poolObjects(cluster *unstructured.Unstructured, pool MachinePool) []*unstructured.Unstructured {
	name := DeploymentName(cluster.GetName(), pool.Name)
	template := newObject(BootstrapTemplateKind, cluster.GetNamespace(), name)
	template.Object["spec"] = map[string]any{
		"clusterName": cluster.GetName(),
		"template":    map[string]any{"spec": map[string]any{"clusterName": cluster.GetName()}},
	}
	deployment := newObject(clusterv1.GroupVersion.WithKind("MachineDeployment"), cluster.GetNamespace(), name)
	deployment.Object["spec"] = map[string]any{
		"clusterName": cluster.GetName(), "replicas": pool.Quantity,
		"selector": map[string]any{},
		"rollout":  map[string]any{"strategy": map[string]any{"type": string(clusterv1.RollingUpdateMachineDeploymentStrategyType)}},
		"deletion": map[string]any{"order": string(clusterv1.OldestMachineSetDeletionOrder)},
		"template": map[string]any{
			"metadata": map[string]any{"labels": pool.labels(cluster.GetName()), "annotations": pool.annotations()},
			"spec": map[string]any{
				"clusterName": cluster.GetName(),
				"bootstrap": map[string]any{
					"configRef": contractRef(rkeGroup, BootstrapTemplateKind.Kind, name),
				},
				"infrastructureRef": contractRef(pool.MachineConfigRef.GroupVersionKind().Group, pool.MachineConfigRef.Kind, pool.MachineConfigRef.Name),
			},
		},
	}
	return []*unstructured.Unstructured{template, deployment}
}

// labels of a Machine of the pool. One that is only of etcd is no control plane for Cluster API.
func (p MachinePool) labels(cluster string) map[string]any {
	labels := map[string]any{
		clusterv1.ClusterNameLabel: cluster, ClusterNameLabel: cluster, PoolLabel: p.Name,
		clusterv1.MachineDeploymentNameLabel: DeploymentName(cluster, p.Name),
	}
	if p.EtcdRole {
		labels[EtcdLabel] = roleValue
	}
	if p.ControlPlaneRole {
		labels[ControlPlaneLabel], labels[clusterv1.MachineControlPlaneLabel] = roleValue, roleValue
	}
	if p.WorkerRole {
		labels[WorkerLabel] = roleValue
	}
	return labels
}

func (p MachinePool) annotations() map[string]any {
	if p.DrainBeforeDelete {
		return map[string]any{}
	}
	return map[string]any{clusterv1.ExcludeNodeDrainingAnnotation: roleValue}
}
