// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package storage

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Labels of Longhorn's instance managers, in which the replicas and engines of a Node run.
const (
	ComponentLabel  = "longhorn.io/component"
	NodeLabel       = "longhorn.io/node"
	InstanceManager = "instance-manager"
)

// ManagerName is the name of a Node's instance manager, and of its PodDisruptionBudget.
func ManagerName(node string) string { return InstanceManager + "-" + node }

// manager returns the Node's instance manager; nil if none runs.
func (l *Longhorn) manager(ctx context.Context, node string) (*corev1.Pod, error) {
	pod := &corev1.Pod{}
	err := l.kube.Get(ctx, client.ObjectKey{Namespace: Namespace, Name: ManagerName(node)}, pod)
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading the instance manager of Node %s: %w", node, err)
	}
	return pod, nil
}

// keepManager keeps an instance manager on a Node where one can run, and reports whether it runs. Longhorn creates
// none on a cordoned Node.
func (l *Longhorn) keepManager(ctx context.Context, node *corev1.Node) (runs bool, err error) {
	pod, err := l.manager(ctx, node.Name)
	if err != nil {
		return false, err
	}
	if pod != nil {
		return pod.DeletionTimestamp.IsZero() && pod.Status.Phase == corev1.PodRunning && isReady(node), nil
	}
	if node.Spec.Unschedulable || !isReady(node) {
		return false, nil
	}
	pod = &corev1.Pod{ObjectMeta: l.managerMeta(node.Name), Spec: corev1.PodSpec{
		NodeName: node.Name, Containers: []corev1.Container{{Name: InstanceManager, Image: "registry.example.com/longhorn-instance-manager:1"}},
	}}
	if err := l.kube.Create(ctx, pod); err != nil && !apierrors.IsAlreadyExists(err) {
		return false, fmt.Errorf("creating the instance manager of Node %s: %w", node.Name, err)
	}
	return false, nil
}

func (l *Longhorn) managerMeta(node string) metav1.ObjectMeta {
	return metav1.ObjectMeta{
		Namespace: Namespace, Name: ManagerName(node), Labels: map[string]string{ComponentLabel: InstanceManager, NodeLabel: node},
	}
}

// guard keeps a PodDisruptionBudget for the Node's instance manager while volumes need it.
func (l *Longhorn) guard(ctx context.Context, node string, needed bool) error {
	budget := &policyv1.PodDisruptionBudget{ObjectMeta: l.managerMeta(node)}
	var err error
	if needed {
		budget.Spec = policyv1.PodDisruptionBudgetSpec{
			MinAvailable: ptr.To(intstr.FromInt32(1)), Selector: &metav1.LabelSelector{MatchLabels: budget.Labels},
		}
		err = l.kube.Create(ctx, budget)
	} else {
		err = l.kube.Delete(ctx, budget)
	}
	if err == nil || apierrors.IsAlreadyExists(err) || apierrors.IsNotFound(err) {
		return nil
	}
	return fmt.Errorf("guarding the instance manager of Node %s: %w", node, err)
}

func isReady(node *corev1.Node) bool {
	for _, condition := range node.Status.Conditions {
		if condition.Type == corev1.NodeReady {
			return condition.Status == corev1.ConditionTrue
		}
	}
	return false
}
