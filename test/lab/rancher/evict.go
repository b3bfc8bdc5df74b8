// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package rancher

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
)

const (
	defaultDrainSeconds = 600
	// lookAtPods is the interval at which it is looked which Pods are gone.
	lookAtPods = 500 * time.Millisecond
)

// evictAll plays kubectl drain: it evicts all Pods of a Node but those of DaemonSets and of the kubelet itself, and waits until they are
// gone, or fails after the time-out.
func (d *drainer) evictAll(ctx context.Context, machine *clusterv1.Machine, options DrainOptions) error {
	kube, node, err := d.workloads.node(ctx, machine)
	if err != nil {
		return err
	}
	if pods, err := toEvict(ctx, kube, node.Name, options); err != nil || len(pods) == 0 {
		return err
	}
	seconds := cmp.Or(options.Timeout, defaultDrainSeconds)
	asked := map[string]time.Time{}
	err = wait.PollUntilContextTimeout(ctx, lookAtPods, time.Duration(seconds)*time.Second, true, func(ctx context.Context) (bool, error) {
		pods, err := toEvict(ctx, kube, node.Name, options)
		if err != nil {
			return false, err
		}
		for i := range pods {
			name := pods[i].Namespace + "/" + pods[i].Name
			if pods[i].DeletionTimestamp != nil || time.Since(asked[name]) < d.retry {
				continue
			}
			asked[name] = time.Now()
			if err := evict(ctx, kube, &pods[i], options); err != nil {
				return false, err
			}
		}
		return len(pods) == 0, nil
	})
	if wait.Interrupted(err) {
		return fmt.Errorf("draining Node %s: global timeout reached: %ds", node.Name, seconds)
	}
	return err
}

// evict asks for the eviction of a Pod; one that a PodDisruptionBudget forbids is asked for again.
func evict(ctx context.Context, kube kubernetes.Interface, pod *corev1.Pod, options DrainOptions) error {
	deletion := metav1.DeleteOptions{}
	if options.GracePeriod >= 0 {
		seconds := int64(options.GracePeriod)
		deletion.GracePeriodSeconds = &seconds
	}
	var err error
	if options.DisableEviction {
		err = kube.CoreV1().Pods(pod.Namespace).Delete(ctx, pod.Name, deletion)
	} else {
		err = kube.CoreV1().Pods(pod.Namespace).EvictV1(ctx, &policyv1.Eviction{
			ObjectMeta: metav1.ObjectMeta{Namespace: pod.Namespace, Name: pod.Name}, DeleteOptions: &deletion,
		})
	}
	if apierrors.IsTooManyRequests(err) || apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("evicting Pod %s: %w", pod.Name, err)
	}
	return nil
}

// toEvict lists the Pods that have to leave a Node, or says which of them must not.
func toEvict(ctx context.Context, kube kubernetes.Interface, node string, options DrainOptions) ([]corev1.Pod, error) {
	pods, err := kube.CoreV1().Pods(metav1.NamespaceAll).List(ctx, metav1.ListOptions{
		FieldSelector: fields.OneTermEqualSelector("spec.nodeName", node).String(),
	})
	if err != nil {
		return nil, fmt.Errorf("listing the Pods of Node %s: %w", node, err)
	}
	found, refused := []corev1.Pod{}, []error{}
	for i := range pods.Items {
		pod := &pods.Items[i]
		leaves, err := hasToLeave(pod, options)
		refused = append(refused, err)
		if leaves && !isSkipped(pod, options) {
			found = append(found, *pod)
		}
	}
	return found, errors.Join(refused...)
}

// hasToLeave reports whether a Pod is evicted; an error is a reason not to drain at all.
func hasToLeave(pod *corev1.Pod, options DrainOptions) (bool, error) {
	owner := metav1.GetControllerOf(pod)
	switch {
	case isMirror(pod):
		return false, nil
	case isDone(pod):
		return true, nil
	case owner != nil && owner.Kind == "DaemonSet":
		if !ptr.Deref(options.IgnoreDaemonSets, true) {
			return false, fmt.Errorf("cannot delete DaemonSet-managed Pods: %s/%s", pod.Namespace, pod.Name)
		}
		return false, nil
	case owner == nil && !options.Force:
		return false, fmt.Errorf("cannot delete Pods that declare no controller: %s/%s", pod.Namespace, pod.Name)
	case hasLocalStorage(pod) && !options.DeleteEmptyDirData:
		return false, fmt.Errorf("cannot delete Pods with local storage: %s/%s", pod.Namespace, pod.Name)
	}
	return true, nil
}

// isMirror reports whether the kubelet runs a Pod by itself.
func isMirror(pod *corev1.Pod) bool {
	_, isSet := pod.Annotations[corev1.MirrorPodAnnotationKey]
	return isSet
}

func isDone(pod *corev1.Pod) bool {
	return pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed
}

func hasLocalStorage(pod *corev1.Pod) bool {
	return slices.ContainsFunc(pod.Spec.Volumes, func(volume corev1.Volume) bool { return volume.EmptyDir != nil })
}

// isSkipped reports whether a Pod is not waited for, which has been deleted for so long.
func isSkipped(pod *corev1.Pod, options DrainOptions) bool {
	most := time.Duration(options.SkipWaitForDeleteTimeoutSeconds) * time.Second
	return most > 0 && pod.DeletionTimestamp != nil && time.Since(pod.DeletionTimestamp.Time) > most
}
