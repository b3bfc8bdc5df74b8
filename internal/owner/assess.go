// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package owner

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// AssessControlPlane says which condition of which Machine of a control plane is waited for before one of them, which is
// held in its update, may be let go; empty where none is. KubeadmControlPlane looks for the next Machine then, and deletes
// it if it is the only unhealthy one. It is made to look at them again where its conditions may be out of date. A reader that
// lags may have one for healthy that is not.
func AssessControlPlane(ctx context.Context, reader client.Reader, writer client.Writer, now time.Time, held *clusterv1.Machine) (string, error) {
	machines, err := listMachines(ctx, reader, held.Namespace, "the control plane of Cluster "+held.Spec.ClusterName,
		client.MatchingLabels{clusterv1.ClusterNameLabel: held.Spec.ClusterName}, client.HasLabels{clusterv1.MachineControlPlaneLabel})
	if err != nil {
		return "", err
	}
	return waitForControlPlane(held, machines), LookAgain(ctx, writer, now, machines)
}

// listMachines are those that are selected, by name.
func listMachines(ctx context.Context, reader client.Reader, namespace, of string, selecting ...client.ListOption) ([]clusterv1.Machine, error) {
	list := &clusterv1.MachineList{}
	if err := reader.List(ctx, list, append(selecting, client.InNamespace(namespace))...); err != nil {
		return nil, fmt.Errorf("listing the Machines of %s: %w", of, err)
	}
	slices.SortFunc(list.Items, func(a, b clusterv1.Machine) int { return cmp.Compare(a.Name, b.Name) })
	return list.Items, nil
}

func waitForControlPlane(machine *clusterv1.Machine, all []clusterv1.Machine) string {
	if unhealthy := Unhealthy(machine); len(unhealthy) > 0 {
		return "waiting for condition " + unhealthy[0] + " of control plane Machine " + machine.Name
	}
	for i := range all {
		// One that is being deleted keeps KubeadmControlPlane from doing anything else.
		if !all[i].DeletionTimestamp.IsZero() {
			continue
		}
		if unhealthy := Unhealthy(&all[i]); len(unhealthy) > 0 {
			return "waiting for condition " + unhealthy[0] + " of control plane Machine " + all[i].Name +
				", which would be deleted otherwise: repair its node"
		}
	}
	return ""
}
