// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package capiworkaround

import (
	"context"
	"fmt"
	"time"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/annotations"
	"sigs.k8s.io/cluster-api/util/conditions"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/owner"
)

// lookEvery is how long KubeadmControlPlane is left alone in between. It takes as long itself where a component is
// unhealthy for certain.
const lookEvery = 20 * time.Second

// LookAgainAt makes KubeadmControlPlane look at the health of its Machines, by an annotation on one of them, if its
// conditions may be out of date: the Node of a Machine is Ready, and it still does not find the Machine healthy. It watches
// neither etcd nor Pods, and where all it knows is that it does not know, it looks again with its next resync, in ten minutes.
func LookAgainAt(ctx context.Context, writer client.Writer, now time.Time, machines []clusterv1.Machine) error {
	for i := range machines {
		machine := &machines[i]
		if !mayBeOutdated(machine) {
			continue
		}
		last, err := time.Parse(time.RFC3339, machine.Annotations[infrav1.HealthLookAnnotation])
		if err == nil && now.Sub(last) < lookEvery && !last.After(now) { // a former leader's clock may have been ahead
			return nil
		}
		base := machine.DeepCopy()
		annotations.AddAnnotations(machine, map[string]string{infrav1.HealthLookAnnotation: now.UTC().Format(time.RFC3339)})
		if err := writer.Patch(ctx, machine, client.MergeFrom(base)); client.IgnoreNotFound(err) != nil {
			return fmt.Errorf("marking Machine %s for its control plane to look at it again: %w", machine.Name, err)
		}
		return nil
	}
	return nil
}

func mayBeOutdated(machine *clusterv1.Machine) bool {
	return machine.DeletionTimestamp.IsZero() && len(owner.Unhealthy(machine)) > 0 && conditions.IsTrue(machine, clusterv1.MachineNodeReadyCondition)
}
