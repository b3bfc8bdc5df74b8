# Copyright 2026 The Cluster API Provider Elemental Authors.
# SPDX-License-Identifier: Apache-2.0
#
# Sourced, beside lib.sh: clusterctl's own mover, and management clusters in memory that it moves a Cluster between, as Go source
# beside a script's program.
# shellcheck shell=bash

# clusterctl_module makes a Go module with newManagement, newSource, of and check.
clusterctl_module() {
  go_modules sigs.k8s.io/cluster-api@v1.14.2 sigs.k8s.io/cluster-api/api@v1.14.2 sigs.k8s.io/controller-runtime@v0.24.1 \
    k8s.io/apiextensions-apiserver@v0.36.3 k8s.io/apimachinery@v0.36.3 k8s.io/client-go@v0.36.3
  cat >management.go <<'GO'
package main

import (
	"context"

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
		WithInterceptorFuncs(interceptor.Funcs{Patch: patched}).Build()}
}

// patched is called for each patch of an object, in place of the client.
var patched func(ctx context.Context, c client.WithWatch, object client.Object, patch client.Patch, options ...client.PatchOption) error

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

func check(err error) {
	if err != nil {
		panic(err)
	}
}
GO
}
