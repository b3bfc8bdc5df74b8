// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package ownertest

import (
	"context"
	"fmt"

	"k8s.io/utils/ptr"
	controlplanev1 "sigs.k8s.io/cluster-api/api/controlplane/kubeadm/v1beta2"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Observe does to the status of an owner or MachineSet what its controller does when it has acted on it:
// it observes the generation and, of a MachineSet, counts the Machines.
func Observe(ctx context.Context, c client.Client, object client.Object, machines int32) error {
	if err := c.Get(ctx, client.ObjectKeyFromObject(object), object); err != nil {
		return err
	}
	switch kind := object.(type) {
	case *clusterv1.MachineDeployment:
		kind.Status.ObservedGeneration, kind.Status.Replicas = kind.Generation, ptr.To(machines)
	case *clusterv1.MachineSet:
		kind.Status.ObservedGeneration, kind.Status.Replicas = kind.Generation, ptr.To(machines)
	case *controlplanev1.KubeadmControlPlane:
		kind.Status.ObservedGeneration, kind.Status.Replicas = kind.Generation, ptr.To(machines)
	default:
		return fmt.Errorf("%T is no owner", object)
	}
	return c.Status().Update(ctx, object)
}
