// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package workload

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/workload/kubevirt"
)

// withoutVirtualMachines hides the Pods of virtual machines from a drain: they are evacuated, each as was decided for
// it, and an eviction that KubeVirt does not know of stops a guest.
type withoutVirtualMachines struct{ client.Client }

// List lists as the Client does, and leaves out Pods of virtual machines.
func (c withoutVirtualMachines) List(ctx context.Context, into client.ObjectList, options ...client.ListOption) error {
	if err := c.Client.List(ctx, into, options...); err != nil {
		return fmt.Errorf("listing %T: %w", into, err)
	}
	if pods, ok := into.(*corev1.PodList); ok {
		pods.Items = slices.DeleteFunc(pods.Items, func(pod corev1.Pod) bool { return kubevirt.OwnsPod(&pod) })
	}
	return nil
}

// drainable is what a drain sees of the workload cluster.
func (c *Cluster) drainable(ctx context.Context) (client.Client, error) {
	installed, err := c.HasKubeVirt(ctx, nil)
	if err != nil || !installed {
		return c.live, err
	}
	return withoutVirtualMachines{c.live}, nil
}
