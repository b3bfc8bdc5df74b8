#!/usr/bin/env bash
# Copyright 2026 The Cluster API Provider Elemental Authors.
# SPDX-License-Identifier: Apache-2.0
#
# Software:  sigs.k8s.io/cluster-api v1.14.2 (clusterctl)
# Guess:     "clusterctl move" pauses a Cluster, and then looks which objects there are to move.
# Behaviour: It looks first. What a controller deletes before it has seen the pause is read 13 times, for about two and a half minutes; then the
#            move fails. Part of the objects are in the other cluster by then, and the Cluster is left paused.
# Seen:      what expect compares below.
# Source:    Move, move and createTargetObject in cmd/clusterctl/client/cluster/mover.go of Cluster API, newWriteBackoff in client.go.
# Here:      a MachineDeployment deletes its old MachineSet when a rollout has ended: docs/move.md says when to move, and what to do then.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/lib-clusterctl.sh"
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

clusterctl_module
go_run <<'GO'
package main

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// owned is an object of the Cluster that another controller deletes.
var owned = &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "c-proxy", UID: "secret"}}

// deleteMeanwhile deletes owned when the Cluster is paused.
func deleteMeanwhile(ctx context.Context, c client.WithWatch, object client.Object, patch client.Patch, options ...client.PatchOption) error {
	if object.GetObjectKind().GroupVersionKind().Kind == "Cluster" {
		check(client.IgnoreNotFound(c.Delete(ctx, owned)))
	}
	return c.Patch(ctx, object, patch, options...)
}

func main() {
	patched = deleteMeanwhile
	source, target := newSource(nil), newManagement()
	mine := source.clusters()[0]
	owned.OwnerReferences = []metav1.OwnerReference{{APIVersion: clusterv1.GroupVersion.String(), Kind: "Cluster", Name: mine.Name, UID: mine.UID}}
	check(source.client.Create(context.Background(), owned.DeepCopy()))

	fmt.Println(of(source).ObjectMover().Move(context.Background(), "default", of(target), false))
	for _, left := range source.clusters() {
		fmt.Println("left: Cluster, paused", *left.Spec.Paused)
	}
	fmt.Println("created:", len(target.clusters()), "Cluster")
}
GO
expect <<'SEEN'
action failed after 13 attempts: error reading "/v1, Kind=Secret" default/c-proxy: secrets "c-proxy" not found
left: Cluster, paused true
created: 1 Cluster
SEEN
