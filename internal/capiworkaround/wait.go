// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package capiworkaround

import (
	"context"
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
	machines, err := owner.ControlPlaneMachines(ctx, reader, updated.Namespace, updated.Spec.ClusterName)
	if err != nil {
		return "", err
	}
	return waitForControlPlane(updated, machines), LookAgainAt(ctx, writer, now, machines)
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
