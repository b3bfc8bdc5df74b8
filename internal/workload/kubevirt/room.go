// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package kubevirt

import (
	"context"
	"fmt"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const (
	// firstCounted and thenCounted are of how many Nodes Pods are counted at once, before all Pods are.
	firstCounted, thenCounted = 2, 8
	// podsFor is how long all Pods of a cluster are shared. Whether a virtual machine fits anywhere is an estimate anyway.
	podsFor = 30 * time.Second
	// podsPerCall bounds the answer to one call.
	podsPerCall = 2000
)

// decideAll decides on the virtual machines of a snapshot, with the Pods of no more Nodes than that takes: of a few that
// could take them, and only where those have no room for all, of the whole cluster.
func (e Evacuation) decideAll(ctx context.Context, s *Snapshot) (*decider, []Decision, error) {
	for _, most := range []int{firstCounted, thenCounted} {
		d := newDecider(s, e.question(s))
		decisions := d.decisions()
		if len(d.targets.uncounted) == 0 {
			return d, decisions, nil
		}
		if all, ok := e.Pods.recent(); ok {
			e.countAll(s, all)
			break
		}
		for _, node := range d.targets.uncounted[:min(most, len(d.targets.uncounted))] {
			if err := e.countPods(ctx, s, node); err != nil {
				return nil, nil, err
			}
		}
	}
	d := newDecider(s, e.question(s))
	decisions := d.decisions()
	if len(d.targets.uncounted) == 0 {
		return d, decisions, nil
	}
	all, err := e.Pods.read(ctx, e.Client)
	if err != nil {
		return nil, nil, err
	}
	e.countAll(s, all)
	d = newDecider(s, e.question(s))
	return d, d.decisions(), nil
}

// countAll adds the Pods of all other Nodes. What is on this Node is known better.
func (e Evacuation) countAll(s *Snapshot, pods []corev1.Pod) {
	others := make([]corev1.Pod, 0, len(pods))
	for i := range pods {
		if pods[i].Spec.NodeName != e.Node.Name {
			others = append(others, pods[i])
		}
	}
	s.add(others)
	s.Counted = nil
}

func (e Evacuation) countPods(ctx context.Context, s *Snapshot, node string) error {
	pods := &corev1.PodList{}
	err := list(ctx, e.Client, pods, client.MatchingFieldsSelector{
		Selector: fields.AndSelectors(running.Selector, fields.OneTermEqualSelector("spec.nodeName", node)),
	})
	s.add(pods.Items)
	s.Counted.Insert(node)
	return err
}

// SharedPods are all Pods of a cluster as they were a short while ago, for all evacuations in it. The zero value is ready,
// and may be used by many at once. With nil nothing is shared.
type SharedPods struct {
	// Now is the time. Default: the real one.
	Now func() time.Time

	mu   sync.Mutex
	at   time.Time
	pods []corev1.Pod
}

func (s *SharedPods) now() time.Time {
	if s.Now != nil {
		return s.Now()
	}
	return time.Now()
}

// recent are the Pods, if they were read of late.
func (s *SharedPods) recent() ([]corev1.Pod, bool) {
	if s == nil {
		return nil, false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if age := s.now().Sub(s.at); s.at.IsZero() || age < 0 || age >= podsFor {
		s.pods = nil
		return nil, false
	}
	return s.pods, true
}

// read reads them again.
func (s *SharedPods) read(ctx context.Context, c client.Client) ([]corev1.Pod, error) {
	if s == nil {
		return allPods(ctx, c)
	}
	at := s.now()
	pods, err := allPods(ctx, c)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.at, s.pods = at, pods
	return pods, nil
}

// allPods are the Pods of a cluster that have not ended, without what decisions do not look at.
func allPods(ctx context.Context, c client.Client) ([]corev1.Pod, error) {
	all, next := []corev1.Pod{}, ""
	for {
		pods := &corev1.PodList{}
		if err := c.List(ctx, pods, running, client.Limit(podsPerCall), client.Continue(next)); err != nil {
			return nil, fmt.Errorf("listing Pods: %w", err)
		}
		for i := range pods.Items {
			all = append(all, trimmed(&pods.Items[i]))
		}
		if next = pods.Continue; next == "" {
			return all, nil
		}
	}
}

// trimmed is what of a Pod says where it is, what it requests, and which virtual machine it is for.
func trimmed(pod *corev1.Pod) corev1.Pod {
	return corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: pod.Namespace, Name: pod.Name, UID: pod.UID, Labels: pod.Labels, DeletionTimestamp: pod.DeletionTimestamp,
		},
		Spec: corev1.PodSpec{
			NodeName: pod.Spec.NodeName, Overhead: pod.Spec.Overhead,
			Containers: requesting(pod.Spec.Containers), InitContainers: requesting(pod.Spec.InitContainers),
		},
	}
}

func requesting(containers []corev1.Container) []corev1.Container {
	trimmed := make([]corev1.Container, 0, len(containers))
	for i := range containers {
		trimmed = append(trimmed, corev1.Container{
			RestartPolicy: containers[i].RestartPolicy, Resources: corev1.ResourceRequirements{Requests: containers[i].Resources.Requests},
		})
	}
	return trimmed
}
