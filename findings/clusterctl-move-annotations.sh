#!/usr/bin/env bash
# Copyright 2026 The Cluster API Provider Elemental Authors.
# SPDX-License-Identifier: Apache-2.0
#
# Software:  sigs.k8s.io/cluster-api v1.14.2 (clusterctl)
# Guess:     "clusterctl move" adds the annotation clusterctl.cluster.x-k8s.io/delete-for-move to an object before it deletes it in
#            the cluster that it leaves.
# Behaviour: It replaces all annotations of the object by that one. A webhook that keeps an annotation from being changed stops the
#            move after all objects were created in the other cluster, and before any of them is deleted in this one.
# Seen:      what expect compares below.
# Source:    addDeleteForMoveAnnotationPatch and deleteSourceObject in cmd/clusterctl/client/cluster/mover.go of Cluster API.
# Here:      validateClone in internal/webhooks/machinetemplate.go lets the marks of a clone go with a move.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

go_modules sigs.k8s.io/cluster-api@v1.14.2 sigs.k8s.io/cluster-api/api@v1.14.2 sigs.k8s.io/controller-runtime@v0.24.1 \
  k8s.io/apiextensions-apiserver@v0.36.3 k8s.io/apimachinery@v0.36.3 k8s.io/client-go@v0.36.3
go_run <<'GO'
package main

import (
	"context"
	"fmt"
	"maps"
	"slices"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	clusterctlv1 "sigs.k8s.io/cluster-api/cmd/clusterctl/api/v1alpha3"
	"sigs.k8s.io/cluster-api/cmd/clusterctl/client/cluster"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
)

// management is a management cluster in memory.
type management struct {
	cluster.Proxy
	client client.Client
}

func (m management) NewClient(context.Context) (client.Client, error) { return m.client, nil }

func newManagement(objects ...client.Object) management {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{
		clientgoscheme.AddToScheme, apiextensionsv1.AddToScheme, clusterv1.AddToScheme, clusterctlv1.AddToScheme,
	} {
		check(add(scheme))
	}
	return management{client: fake.NewClientBuilder().WithScheme(scheme).WithObjects(objects...).
		WithInterceptorFuncs(interceptor.Funcs{Patch: tell}).Build()}
}

// tell prints the annotations of an object that is about to be deleted.
func tell(ctx context.Context, c client.WithWatch, object client.Object, patch client.Patch, options ...client.PatchOption) error {
	if err := c.Patch(ctx, object, patch, options...); err != nil {
		return err
	}
	if _, leaves := object.GetAnnotations()[clusterctlv1.DeleteForMoveAnnotation]; leaves {
		fmt.Println("before its deletion:", slices.Sorted(maps.Keys(object.GetAnnotations())))
	}
	return nil
}

// clusters returns the Clusters of a management cluster.
func (m management) clusters() []clusterv1.Cluster {
	list := &clusterv1.ClusterList{}
	check(m.client.List(context.Background(), list))
	return list.Items
}

// newSource is a management cluster with a Cluster, and its annotations.
func newSource(annotations map[string]string) management {
	crd := &apiextensionsv1.CustomResourceDefinition{
		ObjectMeta: metav1.ObjectMeta{Name: "clusters.cluster.x-k8s.io", Labels: map[string]string{clusterctlv1.ClusterctlLabel: ""}},
		Spec: apiextensionsv1.CustomResourceDefinitionSpec{
			Group: clusterv1.GroupVersion.Group, Scope: apiextensionsv1.NamespaceScoped,
			Names:    apiextensionsv1.CustomResourceDefinitionNames{Kind: "Cluster"},
			Versions: []apiextensionsv1.CustomResourceDefinitionVersion{{Name: clusterv1.GroupVersion.Version, Storage: true}},
		},
	}
	yes := true
	moved := &clusterv1.Cluster{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "c", UID: "uid", Annotations: annotations}}
	moved.Status.Initialization.InfrastructureProvisioned = &yes
	moved.Status.Conditions = []metav1.Condition{{Type: clusterv1.ClusterControlPlaneInitializedCondition, Status: metav1.ConditionTrue}}
	return newManagement(crd, moved)
}

func of(m management) cluster.Client {
	return cluster.New(cluster.Kubeconfig{}, nil, cluster.InjectProxy(m))
}

func main() {
	source, target := newSource(map[string]string{"example.com/owner": "a team", "example.com/rack": "7"}), newManagement()
	check(of(source).ObjectMover().Move(context.Background(), "default", of(target), false))
	fmt.Println("left:", len(source.clusters()))
	for _, moved := range target.clusters() {
		fmt.Println("moved, with:", slices.Sorted(maps.Keys(moved.Annotations)))
	}
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}
GO
expect <<'SEEN'
before its deletion: [clusterctl.cluster.x-k8s.io/delete-for-move]
left: 0
moved, with: [example.com/owner example.com/rack]
SEEN
