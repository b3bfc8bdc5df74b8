// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package workload

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/core/reconcilers/machine/drain"
)

// Drain evicts what can be evicted from the Node and returns at once, honouring MachineDrainRules as
// Cluster API's own drain does. Pods that serve volumes go last, and not before beforeStorage finds nothing to
// wait for. Blocker is empty while evictions merely take their time, and names what stands against them, or does not
// end, otherwise. Pods that residents own are left out.
func (c *Cluster) Drain(ctx context.Context, cluster *clusterv1.Cluster, machine *clusterv1.Machine, node *corev1.Node, leaving Leaving,
	beforeStorage func(ctx context.Context) (waitFor string, err error),
) (drained bool, blocker string, err error) {
	remote, err := c.drainable(ctx)
	if err != nil {
		return false, "", err
	}
	last := storageLast{Client: c.management, serving: append(c.servingPods(), csiPods())}
	helper := &drain.Helper{Client: last, RemoteClient: remote, GracePeriodSeconds: -1}
	pods, err := helper.GetPodsForEviction(ctx, cluster, machine, node.Name)
	if err != nil {
		return false, "", fmt.Errorf("draining Node %s: %w", node.Name, err)
	}
	if len(pods.Pods()) == 0 {
		return true, "", nil
	}
	if !slices.ContainsFunc(pods.Pods(), last.isOrdinary) {
		if waitFor, err := beforeStorage(ctx); err != nil || waitFor != "" {
			return false, waitFor, err
		}
	}
	result := helper.EvictPods(ctx, pods)
	if result.DrainCompleted() {
		return true, "", nil
	}
	blocker, err = c.blocker(ctx, node, leaving, result)
	return false, blocker, err
}
