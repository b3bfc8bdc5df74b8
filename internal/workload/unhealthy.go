// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package workload

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
)

// UnhealthyFor is how long something has to be unhealthy to count as such before an upgrade. What has just been started, or
// attached, is about to become healthy, and is no excuse for what is broken after the reboot.
const UnhealthyFor = 5 * time.Minute

// Unhealthy is what has been unhealthy on the Node for UnhealthyFor, of what an upgrade waits for after its reboot. It is sorted.
func (c *Cluster) Unhealthy(ctx context.Context, node *corev1.Node, now time.Time) ([]infrav1.UnhealthyObject, error) {
	found := []infrav1.UnhealthyObject{}
	if since := notReadySince(node); !since.IsZero() && lasts(since, now) {
		found = append(found, UnhealthyNode(node))
	}
	pods, err := c.pods(ctx, node.Name)
	if err != nil {
		return nil, err
	}
	for i := range pods {
		if isUnhealthyDaemonPod(&pods[i], now) {
			found = append(found, DaemonSetOf(&pods[i]))
		}
	}
	attachments, err := c.attachments(ctx, node.Name)
	if err != nil {
		return nil, err
	}
	for i := range attachments {
		if isUnhealthyAttachment(&attachments[i], now) {
			found = append(found, UnhealthyVolume(volumeOf(&attachments[i])))
		}
	}
	return sorted(found), nil
}

// UnhealthyOnNodes is the same for all Nodes, by their names, without the Nodes themselves. It lists Pods only of DaemonSets with more Pods that
// are not Ready than Nodes that are not: while a Node reboots, each DaemonSet has one.
func UnhealthyOnNodes(ctx context.Context, reader client.Reader, notReady int, now time.Time) (map[string][]infrav1.UnhealthyObject, error) {
	found := map[string][]infrav1.UnhealthyObject{}
	if err := addDaemonSets(ctx, reader, notReady, now, found); err != nil {
		return nil, err
	}
	attachments := &storagev1.VolumeAttachmentList{}
	if err := reader.List(ctx, attachments); err != nil {
		return nil, fmt.Errorf("listing VolumeAttachments: %w", err)
	}
	for i := range attachments.Items {
		if attachment := &attachments.Items[i]; isUnhealthyAttachment(attachment, now) {
			found[attachment.Spec.NodeName] = append(found[attachment.Spec.NodeName], UnhealthyVolume(volumeOf(attachment)))
		}
	}
	for node := range found {
		found[node] = sorted(found[node])
	}
	return found, nil
}

func addDaemonSets(ctx context.Context, reader client.Reader, notReady int, now time.Time, found map[string][]infrav1.UnhealthyObject) error {
	sets := &appsv1.DaemonSetList{}
	if err := reader.List(ctx, sets); err != nil {
		return fmt.Errorf("listing DaemonSets: %w", err)
	}
	for i := range sets.Items {
		set := &sets.Items[i]
		if int(set.Status.DesiredNumberScheduled-set.Status.NumberReady) <= notReady {
			continue
		}
		pods, err := podsOf(ctx, reader, set)
		if err != nil {
			return err
		}
		for j := range pods {
			if pod := &pods[j]; metav1.IsControlledBy(pod, set) && isUnhealthyDaemonPod(pod, now) {
				found[pod.Spec.NodeName] = append(found[pod.Spec.NodeName], DaemonSetOf(pod))
			}
		}
	}
	return nil
}

func podsOf(ctx context.Context, reader client.Reader, set *appsv1.DaemonSet) ([]corev1.Pod, error) {
	selector, err := metav1.LabelSelectorAsSelector(set.Spec.Selector)
	if err != nil {
		return nil, fmt.Errorf("reading the selector of DaemonSet %s/%s: %w", set.Namespace, set.Name, err)
	}
	pods := &corev1.PodList{}
	if err := reader.List(ctx, pods, client.InNamespace(set.Namespace), client.MatchingLabelsSelector{Selector: selector}); err != nil {
		return nil, fmt.Errorf("listing Pods of DaemonSet %s/%s: %w", set.Namespace, set.Name, err)
	}
	return pods.Items, nil
}

func lasts(since, now time.Time) bool { return now.Sub(since) >= UnhealthyFor }

// notReadySince is since when the Node is not Ready; zero if it is. A Node whose kubelet has never said anything is not Ready since
// it was created.
func notReadySince(node *corev1.Node) time.Time {
	for i := range node.Status.Conditions {
		condition := &node.Status.Conditions[i]
		switch {
		case condition.Type != corev1.NodeReady:
		case condition.Status == corev1.ConditionTrue:
			return time.Time{}
		default:
			return condition.LastTransitionTime.Time
		}
	}
	return node.CreationTimestamp.Time
}

func isUnhealthyDaemonPod(pod *corev1.Pod, now time.Time) bool {
	if !isDaemonPod(pod) || IsPodReady(pod) {
		return false
	}
	since := pod.CreationTimestamp.Time
	for i := range pod.Status.Conditions {
		if condition := &pod.Status.Conditions[i]; condition.Type == corev1.PodReady && !condition.LastTransitionTime.IsZero() {
			since = condition.LastTransitionTime.Time
		}
	}
	return lasts(since, now)
}

func isUnhealthyAttachment(attachment *storagev1.VolumeAttachment, now time.Time) bool {
	return isUnattached(attachment) && lasts(attachment.CreationTimestamp.Time, now)
}

// UnhealthyNode is a Node that is not Ready.
func UnhealthyNode(node *corev1.Node) infrav1.UnhealthyObject {
	return infrav1.UnhealthyObject{Kind: infrav1.UnhealthyNode, Name: node.Name}
}

// UnhealthyVolume is a volume that is not attached.
func UnhealthyVolume(name string) infrav1.UnhealthyObject {
	return infrav1.UnhealthyObject{Kind: infrav1.UnhealthyVolume, Name: name}
}

// DaemonSetOf is the DaemonSet of one of its Pods. Its UID is left out: one that was deleted and created again is the same.
func DaemonSetOf(pod *corev1.Pod) infrav1.UnhealthyObject {
	return infrav1.UnhealthyObject{Kind: infrav1.UnhealthyDaemonSet, Namespace: pod.Namespace, Name: metav1.GetControllerOf(pod).Name}
}

// namedUnhealthy is how many objects a message names.
const namedUnhealthy = 5

// DescribeUnhealthy says what is wrong with objects.
func DescribeUnhealthy(objects []infrav1.UnhealthyObject) string {
	lines := []string{}
	for _, object := range objects[:min(len(objects), namedUnhealthy)] {
		name, state := object.Name, "Ready"
		if object.Namespace != "" {
			name = object.Namespace + "/" + name
		}
		if object.Kind == infrav1.UnhealthyVolume {
			state = "attached"
		}
		lines = append(lines, fmt.Sprintf("%s %s is not %s", object.Kind, name, state))
	}
	more := ""
	if left := len(objects) - len(lines); left > 0 {
		more = fmt.Sprintf(" and %d more", left)
	}
	return strings.Join(lines, ", ") + more
}

func sorted(objects []infrav1.UnhealthyObject) []infrav1.UnhealthyObject {
	slices.SortFunc(objects, func(a, b infrav1.UnhealthyObject) int {
		return slices.Compare([]string{string(a.Kind), a.Namespace, a.Name}, []string{string(b.Kind), b.Namespace, b.Name})
	})
	return slices.Compact(objects)
}
