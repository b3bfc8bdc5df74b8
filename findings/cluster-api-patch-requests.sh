#!/usr/bin/env bash
# Copyright 2026 The Cluster API Provider Elemental Authors.
# SPDX-License-Identifier: Apache-2.0
#
# Software:  sigs.k8s.io/cluster-api v1.14.2, sigs.k8s.io/controller-runtime v0.24.1
# Guess:     The patch helper of Cluster API, which controllers call at the end of a reconcile, sends two requests at most: one for the
#            object, and one for its status.
# Behaviour: It sends up to four: it reads the object past what the caller has, patches its conditions alone, then the object, and then
#            the rest of its status. Others see three versions, of which the first has the new conditions and the former status. Each
#            wakes all that watch the object, the controller itself included.
# Seen:      what expect compares below. One annotation, one field of the status and one condition were changed.
# Source:    Patch and patchStatusConditions in util/patch/patch.go of Cluster API: conditions are merged with those that other controllers
#            have written meanwhile
# Here:      internal/mergepatch writes the status of kinds that have one writer, conditions included, in one request.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

go_modules sigs.k8s.io/cluster-api@v1.14.2 sigs.k8s.io/cluster-api/api@v1.14.2 sigs.k8s.io/controller-runtime@v0.24.1 k8s.io/apimachinery@v0.36.3
go_run <<'GO'
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/conditions"
	"sigs.k8s.io/cluster-api/util/patch"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
)

// fields are those of an object that a patch changes, one level deep.
func fields(of map[string]any) []string {
	var all []string
	for _, name := range slices.Sorted(maps.Keys(of)) {
		within, _ := of[name].(map[string]any)
		for _, field := range slices.Sorted(maps.Keys(within)) {
			if field != "resourceVersion" {
				all = append(all, name+"."+field)
			}
		}
	}
	return all
}

func show(what string, object client.Object, of client.Patch) {
	data, err := of.Data(object)
	check(err)
	changed := map[string]any{}
	check(json.Unmarshal(data, &changed))
	fmt.Println(what, fields(changed))
}

func main() {
	scheme := runtime.NewScheme()
	check(clusterv1.AddToScheme(scheme))
	cluster := &clusterv1.Cluster{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "c"}}
	counted := fake.NewClientBuilder().WithScheme(scheme).WithObjects(cluster).WithStatusSubresource(cluster).WithInterceptorFuncs(interceptor.Funcs{
		Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, object client.Object, opts ...client.GetOption) error {
			fmt.Println("get")
			return c.Get(ctx, key, object, opts...)
		},
		Patch: func(ctx context.Context, c client.WithWatch, object client.Object, of client.Patch, opts ...client.PatchOption) error {
			show("patch", object, of)
			return c.Patch(ctx, object, of, opts...)
		},
		SubResourcePatch: func(ctx context.Context, c client.Client, name string, object client.Object, of client.Patch, opts ...client.SubResourcePatchOption) error {
			show("patch "+name, object, of)
			return c.SubResource(name).Patch(ctx, object, of, opts...)
		},
	}).Build()

	helper, err := patch.NewHelper(cluster, counted)
	check(err)
	cluster.SetAnnotations(map[string]string{"example.com/seen": "yes"})
	cluster.Status.Phase = "Provisioned"
	conditions.Set(cluster, metav1.Condition{Type: "Seen", Status: metav1.ConditionTrue, Reason: "Seen"})
	check(helper.Patch(context.Background(), cluster))
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}
GO
expect <<'SEEN'
get
patch status [status.conditions]
patch [metadata.annotations]
patch status [status.phase]
SEEN
