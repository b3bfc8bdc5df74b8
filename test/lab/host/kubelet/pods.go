// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package kubelet

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/client-go/util/retry"
)

// resume sets the Pods of the node Ready again that the node lifecycle controller set to not Ready while the
// host was down. A kubelet would do that; kwok, which otherwise simulates the Pods, starts each only once.
func (w *Writer) resume(ctx context.Context, node string) error {
	pods, err := w.client.CoreV1().Pods(metav1.NamespaceAll).List(ctx, metav1.ListOptions{
		FieldSelector: fields.OneTermEqualSelector("spec.nodeName", node).String(),
	})
	if err != nil {
		return fmt.Errorf("listing the pods of node %s: %w", node, err)
	}
	for i := range pods.Items {
		if isMirror(&pods.Items[i]) || !needsResume(&pods.Items[i]) { // mirror Pods follow their probes instead
			continue
		}
		if err := w.resumePod(ctx, &pods.Items[i]); err != nil {
			return fmt.Errorf("resuming pod %s/%s: %w", pods.Items[i].Namespace, pods.Items[i].Name, err)
		}
	}
	return nil
}

func (w *Writer) resumePod(ctx context.Context, pod *corev1.Pod) error {
	pods := w.client.CoreV1().Pods(pod.Namespace)
	return retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		current, err := pods.Get(ctx, pod.Name, metav1.GetOptions{})
		if err != nil || !needsResume(current) {
			return err
		}
		for i := range current.Status.Conditions {
			if c := &current.Status.Conditions[i]; c.Status != corev1.ConditionTrue && isReadiness(c.Type) {
				c.Status, c.LastTransitionTime = corev1.ConditionTrue, metav1.NewTime(w.opts.Clock.Now())
			}
		}
		_, err = pods.UpdateStatus(ctx, current, metav1.UpdateOptions{})
		return err
	})
}

// needsResume reports whether a Pod runs and its status is not Ready. One that is being deleted is left alone.
func needsResume(pod *corev1.Pod) bool {
	if pod.Status.Phase != corev1.PodRunning || pod.DeletionTimestamp != nil {
		return false
	}
	for _, c := range pod.Status.Conditions {
		if isReadiness(c.Type) && c.Status != corev1.ConditionTrue {
			return true
		}
	}
	return false
}

func isReadiness(kind corev1.PodConditionType) bool {
	return kind == corev1.PodReady || kind == corev1.ContainersReady
}
