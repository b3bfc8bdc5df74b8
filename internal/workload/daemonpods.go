// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package workload

import (
	"context"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// UnreadyDaemonPods are the DaemonSet Pods of the Node that are not Ready.
func (c *Cluster) UnreadyDaemonPods(ctx context.Context, node string) ([]*corev1.Pod, error) {
	pods, err := c.pods(ctx, node)
	if err != nil {
		return nil, err
	}
	unready := []*corev1.Pod{}
	for i := range pods {
		if isDaemonPod(&pods[i]) && !IsPodReady(&pods[i]) {
			unready = append(unready, &pods[i])
		}
	}
	return unready, nil
}

func isDaemonPod(pod *corev1.Pod) bool {
	owner := metav1.GetControllerOf(pod)
	return owner != nil && owner.Kind == "DaemonSet"
}

// IsPodReady reports whether a Pod has the condition Ready.
func IsPodReady(pod *corev1.Pod) bool {
	return slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
	})
}
