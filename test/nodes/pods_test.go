// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package nodes

import (
	"context"
	"sync"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/audit"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/suite"
)

// podHistory has the last state of each Pod of an application, those that are gone included.
type podHistory struct {
	lock sync.Mutex
	pods map[types.UID]*podSeen
}

// podSeen is a Pod as it was last.
type podSeen struct {
	corev1.Pod
	gone bool
}

// followPods records the Pods of an application from now on, and those that are there.
func followPods(ctx context.Context, app string) *podHistory {
	GinkgoHelper()
	h := &podHistory{pods: map[types.UID]*podSeen{}}
	suite.Follow(ctx, theLab.WorkloadKube, &corev1.PodList{}, h.see, client.MatchingLabels{"app": app})
	return h
}

func (h *podHistory) see(event watch.Event) (enough bool) {
	pod, isPod := event.Object.(*corev1.Pod)
	if !isPod {
		return false
	}
	h.lock.Lock()
	defer h.lock.Unlock()
	h.pods[pod.UID] = &podSeen{Pod: *pod.DeepCopy(), gone: event.Type == watch.Deleted}
	return false
}

// on lists the Pods that are on a node, and those that were.
func (h *podHistory) on(node string) (there, gone []corev1.Pod) {
	h.lock.Lock()
	defer h.lock.Unlock()
	for _, each := range h.pods {
		switch {
		case each.Spec.NodeName != node:
		case each.gone:
			gone = append(gone, each.Pod)
		default:
			there = append(there, each.Pod)
		}
	}
	return there, gone
}

// deletedAt is when the kubelet has asked the API server to delete a Pod whose containers have ended.
func deletedAt(pod *corev1.Pod) (last time.Time) {
	GinkgoHelper()
	for _, event := range suite.Audit(theLab.Workload) {
		if ref := event.ObjectRef; event.Verb == "delete" && ref != nil && ref.Resource == "pods" && ref.Name == pod.Name && audit.Succeeded(event) {
			last = event.RequestReceivedTimestamp.Time
		}
	}
	Expect(last).NotTo(BeZero(), pod.Name)
	return last
}

// readySince is when a Pod became Ready, to the second; zero if it is not.
func readySince(pod *corev1.Pod) time.Time {
	for _, condition := range pod.Status.Conditions {
		if condition.Type == corev1.PodReady && condition.Status == corev1.ConditionTrue {
			return condition.LastTransitionTime.Time
		}
	}
	return time.Time{}
}
