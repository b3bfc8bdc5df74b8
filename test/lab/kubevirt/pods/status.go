// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package pods

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
)

func isOver(pod *corev1.Pod) bool {
	return pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed
}

// markReady makes a Pod Running and Ready in one update: the simulated kubelet of a host would make a Pod that only runs
// Ready.
func (r *Runner) markReady(ctx context.Context, pod *corev1.Pod, ip string) error {
	r.log.Info("Ready", "pod", pod.Name, "image", pod.Spec.Containers[0].Image)
	now := metav1.Now()
	status := &pod.Status
	status.Phase, status.StartTime = corev1.PodRunning, &now
	status.PodIP, status.PodIPs = ip, []corev1.PodIP{{IP: ip}}
	setConditions(status, corev1.ConditionTrue, now)
	setContainer(pod, true, corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: now}})
	return r.options.Kube.Status().Update(ctx, pod)
}

// complete makes a Job's Pod Succeeded or Failed.
func (r *Runner) complete(ctx context.Context, pod *corev1.Pod, c *container) error {
	now := metav1.Now()
	ended := &corev1.ContainerStateTerminated{Reason: "Completed", FinishedAt: now}
	pod.Status.Phase = corev1.PodSucceeded
	if err := c.process.Result(); err != nil {
		ended.Reason, ended.ExitCode, pod.Status.Phase = "Error", 1, corev1.PodFailed
	}
	r.log.Info("Completed", "pod", pod.Name, "image", c.image, "phase", pod.Status.Phase)
	pod.Status.StartTime = &now
	setConditions(&pod.Status, corev1.ConditionFalse, now)
	setContainer(pod, false, corev1.ContainerState{Terminated: ended})
	return r.options.Kube.Status().Update(ctx, pod)
}

func setConditions(status *corev1.PodStatus, ready corev1.ConditionStatus, now metav1.Time) {
	kept := []corev1.PodCondition{}
	for _, c := range status.Conditions {
		if c.Type == corev1.PodScheduled {
			kept = append(kept, c)
		}
	}
	kept = append(kept, corev1.PodCondition{Type: corev1.PodInitialized, Status: corev1.ConditionTrue, LastTransitionTime: now})
	for _, kind := range []corev1.PodConditionType{corev1.PodReady, corev1.ContainersReady} {
		kept = append(kept, corev1.PodCondition{Type: kind, Status: ready, LastTransitionTime: now})
	}
	status.Conditions = kept
}

func setContainer(pod *corev1.Pod, ready bool, state corev1.ContainerState) {
	pod.Status.ContainerStatuses = []corev1.ContainerStatus{{
		Name: pod.Spec.Containers[0].Name, Image: pod.Spec.Containers[0].Image, Ready: ready, Started: ptr.To(ready), State: state,
	}}
}
