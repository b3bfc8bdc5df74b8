// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package vm

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	kubevirtv1 "kubevirt.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Unfit is why a guest cannot start on a node yet; empty if it can. A guest that only prefers a node would otherwise
// start on another one, and stay there.
func Unfit(ctx context.Context, kube client.Client, name string) (string, error) {
	node := &corev1.Node{}
	if err := kube.Get(ctx, client.ObjectKey{Name: name}, node); err != nil {
		if client.IgnoreNotFound(err) == nil {
			return fmt.Sprintf("there is no node %s", name), nil
		}
		return "", fmt.Errorf("reading node %s: %w", name, err)
	}
	switch {
	case len(node.Spec.Taints) > 0: // includes cordoned and not Ready nodes
		return fmt.Sprintf("node %s has taint %s", name, node.Spec.Taints[0].Key), nil
	case node.Labels[kubevirtv1.NodeSchedulable] != "true":
		return fmt.Sprintf("virt-handler on node %s says %s=%q", name, kubevirtv1.NodeSchedulable, node.Labels[kubevirtv1.NodeSchedulable]), nil
	}
	return "", nil
}
