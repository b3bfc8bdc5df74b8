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
. "$(dirname "${BASH_SOURCE[0]}")/lib-clusterctl.sh"
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

clusterctl_module
go_run <<'GO'
package main

import (
	"context"
	"fmt"
	"maps"
	"slices"

	clusterctlv1 "sigs.k8s.io/cluster-api/cmd/clusterctl/api/v1alpha3"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

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

func main() {
	patched = tell
	source, target := newSource(map[string]string{"example.com/owner": "a team", "example.com/rack": "7"}), newManagement()
	check(of(source).ObjectMover().Move(context.Background(), "default", of(target), false))
	fmt.Println("left:", len(source.clusters()))
	for _, moved := range target.clusters() {
		fmt.Println("moved, with:", slices.Sorted(maps.Keys(moved.Annotations)))
	}
}
GO
expect <<'SEEN'
before its deletion: [clusterctl.cluster.x-k8s.io/delete-for-move]
left: 0
moved, with: [example.com/owner example.com/rack]
SEEN
