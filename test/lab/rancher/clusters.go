// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package rancher

import (
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// fieldManager of what is applied.
const fieldManager = "rancher"

// clusters applies the objects of Cluster API that a cluster consists of, and puts back what others change in them.
type clusters struct{ kube client.Client }

func (c *clusters) setUp(name string, mgr ctrl.Manager) error {
	ofCluster := handler.EnqueueRequestsFromMapFunc(byLabel)
	return ctrl.NewControllerManagedBy(mgr).Named(name).WithOptions(many()).
		For(newObject(ClusterKind, "", "")).
		Watches(&clusterv1.MachineDeployment{}, ofCluster).
		Watches(newObject(ControlPlaneKind, "", ""), ofCluster).
		Complete(c)
}

// byLabel is the cluster that a label names, and its control plane, which has its name.
func byLabel(_ context.Context, object client.Object) []reconcile.Request {
	name := object.GetLabels()[ClusterNameLabel]
	if name == "" {
		return nil
	}
	return []reconcile.Request{{NamespacedName: client.ObjectKey{Namespace: object.GetNamespace(), Name: name}}}
}

// Reconcile implements reconcile.Reconciler.
func (c *clusters) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	cluster := newObject(ClusterKind, request.Namespace, request.Name)
	if err := c.kube.Get(ctx, request.NamespacedName, cluster); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if !cluster.GetDeletionTimestamp().IsZero() {
		return ctrl.Result{}, nil
	}
	spec, err := specOf[ClusterSpec](cluster)
	if err != nil {
		return ctrl.Result{}, err
	}
	objects, err := render(cluster, spec)
	if err != nil {
		return ctrl.Result{}, err
	}
	for _, object := range objects {
		if err := c.kube.Apply(ctx, client.ApplyConfigurationFromUnstructured(object), client.FieldOwner(fieldManager), client.ForceOwnership); err != nil {
			return ctrl.Result{}, fmt.Errorf("applying %s %s: %w", object.GetKind(), object.GetName(), err)
		}
	}
	return ctrl.Result{}, nil
}

// render returns the objects of a cluster.
func render(cluster *unstructured.Unstructured, spec ClusterSpec) ([]*unstructured.Unstructured, error) {
	plane := newObject(ControlPlaneKind, cluster.GetNamespace(), cluster.GetName())
	err := setSpec(plane, planeSpec{
		ClusterName: cluster.GetName(), KubernetesVersion: spec.KubernetesVersion,
		ProvisionGeneration: spec.RKEConfig.ProvisionGeneration, UpgradeStrategy: spec.RKEConfig.UpgradeStrategy,
	})
	if err != nil {
		return nil, err
	}
	core := newObject(clusterv1.GroupVersion.WithKind(clusterv1.ClusterKind), cluster.GetNamespace(), cluster.GetName())
	core.SetOwnerReferences([]metav1.OwnerReference{*metav1.NewControllerRef(cluster, ClusterKind)})
	core.Object["spec"] = map[string]any{
		"controlPlaneRef": map[string]any{"apiGroup": rkeGroup, "kind": ControlPlaneKind.Kind, "name": cluster.GetName()},
	}
	if reference := spec.RKEConfig.InfrastructureRef; reference != nil {
		core.Object["spec"].(map[string]any)["infrastructureRef"] = contractRef(reference.GroupVersionKind().Group, reference.Kind, reference.Name)
	}
	objects := []*unstructured.Unstructured{core, plane}
	for _, pool := range spec.RKEConfig.MachinePools {
		objects = append(objects, poolObjects(cluster, pool)...)
	}
	for _, object := range objects {
		labels := object.GetLabels()
		if labels == nil {
			labels = map[string]string{}
		}
		labels[ClusterNameLabel] = cluster.GetName()
		object.SetLabels(labels)
	}
	return objects, nil
}

func contractRef(group, kind, name string) map[string]any {
	return map[string]any{"apiGroup": group, "kind": kind, "name": name}
}

// DeploymentName is the name of the MachineDeployment of a pool.
func DeploymentName(cluster, pool string) string { return cluster + "-" + pool }
