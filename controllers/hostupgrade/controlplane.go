// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package hostupgrade

import (
	"context"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/capiworkaround"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/sequence"
)

// assessControlPlane waits for what KubeadmControlPlane says of the Machine, where it says anything, and then of the
// others: as soon as this Machine is through with its update KubeadmControlPlane looks for the next, and deletes it if
// it is the only unhealthy one.
func (r *Reconciler) assessControlPlane(ctx context.Context, o *observation) (string, error) {
	if !o.isControlPlane() {
		return "", nil
	}
	return capiworkaround.WaitForControlPlane(ctx, r.APIReader, r.Client, o.now, o.machine)
}

// awaitControlPlane keeps a superseded attempt, and so the Machine in its update, until KubeadmControlPlane finds all
// Machines healthy: the next it does with an unhealthy one is to delete it.
func (r *Reconciler) awaitControlPlane(ctx context.Context, o *observation) (sequence.Result, error) {
	if o.machineLeaves() {
		return sequence.Done(), nil
	}
	if waitFor, err := r.assessControlPlane(ctx, o); err != nil || waitFor != "" {
		return sequence.Wait(pollCluster, "%s", waitFor), err
	}
	return sequence.Done(), nil
}
