// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package kubevirt

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	kubevirtv1 "kubevirt.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
)

// DrainTaint makes a KubeVirt before 1.0 evacuate a Node. It is deprecated since, and keeps an evacuation from being
// cancelled, so that it is set for no other.
const DrainTaint = "kubevirt.io/drain"

// taint taints the Node where KubeVirt is old enough to need that. Another's taint is left to them.
func (e Evacuation) taint(ctx context.Context, kubeVirt *kubevirtv1.KubeVirt) error {
	if isAtLeast(kubeVirt, evictsByAPI) || hasTaint(e.Node, taintKey(kubeVirt)) {
		return nil
	}
	return patchNode(ctx, e.Client, e.Node, func(node *corev1.Node) {
		node.Spec.Taints = append(node.Spec.Taints, corev1.Taint{
			Key: taintKey(kubeVirt), Value: "draining", Effect: corev1.TaintEffectNoSchedule,
		})
		if node.Annotations == nil {
			node.Annotations = map[string]string{}
		}
		node.Annotations[infrav1.EvacuatedByAnnotation] = e.Attempt
	})
}

// untaint takes our taint from the Node, whichever attempt set it.
func untaint(ctx context.Context, c client.Client, node *corev1.Node, kubeVirt *kubevirtv1.KubeVirt) error {
	if _, ours := node.Annotations[infrav1.EvacuatedByAnnotation]; !ours {
		return nil
	}
	return patchNode(ctx, c, node, func(node *corev1.Node) {
		node.Spec.Taints = slices.DeleteFunc(node.Spec.Taints, func(t corev1.Taint) bool { return t.Key == taintKey(kubeVirt) })
		delete(node.Annotations, infrav1.EvacuatedByAnnotation)
	})
}

func taintKey(kubeVirt *kubevirtv1.KubeVirt) string {
	if kubeVirt != nil {
		if configured := kubeVirt.Spec.Configuration.MigrationConfiguration; configured != nil && configured.NodeDrainTaintKey != nil {
			return *configured.NodeDrainTaintKey
		}
	}
	return DrainTaint
}

func hasTaint(node *corev1.Node, key string) bool {
	return slices.ContainsFunc(node.Spec.Taints, func(t corev1.Taint) bool { return t.Key == key })
}

// patchNode writes a change with the resourceVersion that was read.
func patchNode(ctx context.Context, c client.Client, node *corev1.Node, change func(*corev1.Node)) error {
	before := node.DeepCopy()
	change(node)
	patch := client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})
	if err := c.Patch(ctx, node, patch); err != nil {
		return fmt.Errorf("changing the taint for KubeVirt of Node %s: %w", node.Name, err)
	}
	return nil
}
