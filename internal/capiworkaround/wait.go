// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package capiworkaround

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/owner"
)

// WaitForControlPlane says which condition of which Machine of a control plane has to become True before the update of one
// of them may end; empty where none has. KubeadmControlPlane looks for the next Machine then, and deletes it if it is the
// only unhealthy one. It is made to look at them again where its conditions may be out of date. A reader that lags may take
// one for healthy that is not.
func WaitForControlPlane(ctx context.Context, reader client.Reader, writer client.Writer, now time.Time, updated *clusterv1.Machine) (string, error) {
	list := &clusterv1.MachineList{}
	if err := reader.List(ctx, list, client.InNamespace(updated.Namespace),
		client.MatchingLabels{clusterv1.ClusterNameLabel: updated.Spec.ClusterName}, client.HasLabels{clusterv1.MachineControlPlaneLabel}); err != nil {
		return "", fmt.Errorf("listing the Machines of the control plane of Cluster %s: %w", updated.Spec.ClusterName, err)
	}
	slices.SortFunc(list.Items, func(a, b clusterv1.Machine) int { return cmp.Compare(a.Name, b.Name) })
	return waitForControlPlane(updated, list.Items), LookAgainAt(ctx, writer, now, list.Items)
}

func waitForControlPlane(updated *clusterv1.Machine, all []clusterv1.Machine) string {
	if unhealthy := owner.Unhealthy(updated); len(unhealthy) > 0 {
		return "waiting for condition " + unhealthy[0] + " of control plane Machine " + updated.Name
	}
	for i := range all {
		// One that is being deleted keeps KubeadmControlPlane from doing anything else.
		if !all[i].DeletionTimestamp.IsZero() {
			continue
		}
		if unhealthy := owner.Unhealthy(&all[i]); len(unhealthy) > 0 {
			return "waiting for condition " + unhealthy[0] + " of control plane Machine " + all[i].Name +
				", which would be deleted otherwise: repair its node"
		}
	}
	return ""
}
