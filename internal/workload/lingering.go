// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package workload

import (
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/observed"
)

const (
	// lingersAfter is how long a Pod may still be there after its grace period, before it is called stuck.
	lingersAfter = 2 * time.Minute
	// detachesWithin is how long a CSI driver may take to detach a volume, before its VolumeAttachment is called stuck. It is for how
	// long Kubernetes itself waits for a volume of a Node that is not healthy.
	detachesWithin = 6 * time.Minute
	// withoutFinalizers is the merge patch that lets go what nothing else lets go.
	withoutFinalizers = `'{"metadata":{"finalizers":null}}'`
)

// Leaving is what was seen of objects that are being deleted, and the time, both by our own clock: when an object was to be gone is by that of
// the workload cluster, and its time must not call for force.
type Leaving struct {
	Observed *observed.Changes
	Now      time.Time
}

// deletionOf is the key of when an object was seen to be deleted.
type deletionOf struct{ uid types.UID }

// For is how long an object has been seen to be deleted; zero if it is not.
func (l Leaving) For(object metav1.Object) time.Duration {
	if object.GetDeletionTimestamp().IsZero() {
		return 0
	}
	return l.Now.Sub(l.Observed.Look(deletionOf{object.GetUID()}, true, l.Now).Since)
}

// Lingers says why a Pod that is being deleted has not gone, and with which command a user clears it; empty while it may take its time, which is
// its grace period and some more.
func Lingers(pod *corev1.Pod, node *corev1.Node, leaving Leaving) string {
	grace := time.Duration(ptr.Deref(pod.DeletionGracePeriodSeconds, 0)) * time.Second
	if leaving.For(pod) < grace+lingersAfter {
		return ""
	}
	name := "Pod " + podName(pod)
	force := fmt.Sprintf("kubectl --namespace %s delete pod %s --grace-period 0 --force", pod.Namespace, pod.Name)
	switch {
	case len(pod.Finalizers) > 0:
		return fmt.Sprintf("%s is kept by finalizers %s: bring back what removes them, or kubectl --namespace %s patch pod %s --type merge --patch %s",
			name, strings.Join(pod.Finalizers, ", "), pod.Namespace, pod.Name, withoutFinalizers)
	case node != nil && IsUnreachable(node):
		return fmt.Sprintf("%s is not ended, because the kubelet of Node %s does not answer: bring that back or, once its host is off, %s", name, node.Name, force)
	}
	return fmt.Sprintf("%s was to have ended and has not: see kubectl --namespace %s describe pod %s and the log of its kubelet, then %s",
		name, pod.Namespace, pod.Name, force)
}

// lingering are the reasons of those of the Pods that linger, by name, cut to a few.
func lingering(pods []*corev1.Pod, node *corev1.Node, leaving Leaving) []string {
	reasons := []string{}
	for _, pod := range pods {
		if why := Lingers(pod, node, leaving); why != "" {
			reasons = append(reasons, why)
		}
	}
	slices.Sort(reasons)
	if len(reasons) > namedPods {
		reasons = append(reasons[:namedPods], fmt.Sprintf("%d more have not ended in time", len(reasons)-namedPods))
	}
	return reasons
}

// keptAttached is the part of a message, after the name of a volume, that says why it is not detached from a Node, and what helps; empty while it may
// take its time.
func keptAttached(attachment *storagev1.VolumeAttachment, leaving Leaving) string {
	switch {
	case leaving.For(attachment) >= detachesWithin && len(attachment.Finalizers) > 0:
		return fmt.Sprintf(" (CSI driver %s does not detach it: bring that back or, if it is gone for good, kubectl patch volumeattachment %s --type merge --patch %s)",
			attachment.Spec.Attacher, attachment.Name, withoutFinalizers)
	case attachment.Status.DetachError != nil: // whose text may be another at every try
		return " (detaching it fails: kubectl describe volumeattachment " + attachment.Name + ")"
	}
	return ""
}
