// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package workload

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// withoutOwned hides the Pods of residents from a drain.
type withoutOwned struct {
	client.Client
	owns []func(*corev1.Pod) bool
}

// List lists as the Client does, and leaves out Pods that are owned.
func (c withoutOwned) List(ctx context.Context, into client.ObjectList, options ...client.ListOption) error {
	if err := c.Client.List(ctx, into, options...); err != nil {
		return fmt.Errorf("listing %T: %w", into, err)
	}
	if pods, ok := into.(*corev1.PodList); ok {
		pods.Items = slices.DeleteFunc(pods.Items, func(pod corev1.Pod) bool {
			return slices.ContainsFunc(c.owns, func(owns func(*corev1.Pod) bool) bool { return owns(&pod) })
		})
	}
	return nil
}

// drainable is what a drain sees of the workload cluster.
func (c *Cluster) drainable(ctx context.Context) (client.Client, error) {
	owned := withoutOwned{Client: c.live}
	for _, resident := range c.residents {
		owns, err := resident.Owns(ctx, c)
		if err != nil {
			return nil, err
		}
		if owns != nil {
			owned.owns = append(owned.owns, owns)
		}
	}
	if len(owned.owns) == 0 {
		return c.live, nil
	}
	return owned, nil
}
