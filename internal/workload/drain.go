// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package workload

import (
	"context"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/core/reconcilers/machine/drain"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// namedPods is how many Pods a message names at most.
const namedPods = 3

// Drain evicts what can be evicted from the Node and returns at once, honouring MachineDrainRules as
// Cluster API's own drain does. Pods that serve volumes go last, and not before beforeStorage finds nothing to
// wait for. Blocker is empty while evictions merely take their time, and names what stands against them
// otherwise. Pods of virtual machines are left out.
func (c *Cluster) Drain(ctx context.Context, cluster *clusterv1.Cluster, machine *clusterv1.Machine, node string,
	beforeStorage func(ctx context.Context) (waitFor string, err error),
) (drained bool, blocker string, err error) {
	remote, err := c.drainable(ctx)
	if err != nil {
		return false, "", err
	}
	helper := &drain.Helper{Client: storageLast{c.management}, RemoteClient: remote, GracePeriodSeconds: -1}
	pods, err := helper.GetPodsForEviction(ctx, cluster, machine, node)
	if err != nil {
		return false, "", fmt.Errorf("draining Node %s: %w", node, err)
	}
	if len(pods.Pods()) == 0 {
		return true, "", nil
	}
	if !slices.ContainsFunc(pods.Pods(), isOrdinary) {
		if waitFor, err := beforeStorage(ctx); err != nil || waitFor != "" {
			return false, waitFor, err
		}
	}
	result := helper.EvictPods(ctx, pods)
	if result.DrainCompleted() {
		return true, "", nil
	}
	blocker, err = c.blocker(ctx, node, result)
	return false, blocker, err
}

// blocker describes what refuses evictions, and nothing that changes while it goes on refusing.
func (c *Cluster) blocker(ctx context.Context, node string, result drain.EvictionResult) (string, error) {
	refused := []*corev1.Pod{}
	for _, pods := range result.PodsFailedEviction {
		refused = append(refused, pods...)
	}
	if len(refused) > 0 {
		return c.nameRefusal(ctx, node, refused)
	}
	if len(result.PodsToWaitCompletedNow) > 0 {
		return "waiting for " + podList(result.PodsToWaitCompletedNow) + " to complete", nil
	}
	return "", nil
}

// nameRefusal names what refuses evictions, and for whose sake.
func (c *Cluster) nameRefusal(ctx context.Context, node string, refused []*corev1.Pod) (string, error) {
	budgets, err := c.nameBudgets(ctx, refused)
	if err != nil || !slices.ContainsFunc(refused, isInstanceManager) {
		return budgets, err
	}
	guarded, err := c.nameGuarded(ctx, node)
	return budgets + guarded, err
}

// nameBudgets names the PodDisruptionBudgets, or says that there are none, behind refused evictions.
func (c *Cluster) nameBudgets(ctx context.Context, refused []*corev1.Pod) (string, error) {
	names := []string{}
	for _, namespace := range namespaces(refused) {
		budgets := &policyv1.PodDisruptionBudgetList{}
		if err := c.live.List(ctx, budgets, client.InNamespace(namespace)); err != nil {
			return "", fmt.Errorf("listing PodDisruptionBudgets in namespace %s: %w", namespace, err)
		}
		names = append(names, selecting(budgets.Items, refused)...)
	}
	slices.Sort(names)
	if len(names) == 0 {
		return "evictions of " + podList(refused) + " are refused", nil
	}
	return fmt.Sprintf("PodDisruptionBudget %s allows no eviction of %s", strings.Join(names, ", "), podList(refused)), nil
}

func namespaces(pods []*corev1.Pod) []string {
	all := []string{}
	for _, pod := range pods {
		all = append(all, pod.Namespace)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

func selecting(budgets []policyv1.PodDisruptionBudget, pods []*corev1.Pod) []string {
	names := []string{}
	for i := range budgets {
		selector, err := metav1.LabelSelectorAsSelector(budgets[i].Spec.Selector)
		if err != nil || budgets[i].Status.DisruptionsAllowed > 0 {
			continue
		}
		if slices.ContainsFunc(pods, func(pod *corev1.Pod) bool {
			return pod.Namespace == budgets[i].Namespace && selector.Matches(labels.Set(pod.Labels))
		}) {
			names = append(names, budgets[i].Namespace+"/"+budgets[i].Name)
		}
	}
	return names
}

// podList renders Pods with their owners, sorted and cut to a few.
func podList(pods []*corev1.Pod) string {
	names := make([]string, 0, len(pods))
	for _, pod := range pods {
		names = append(names, podName(pod))
	}
	slices.Sort(names)
	more := ""
	if len(names) > namedPods {
		more = fmt.Sprintf(" and %d more", len(names)-namedPods)
		names = names[:namedPods]
	}
	kind := "Pod "
	if len(pods) > 1 {
		kind = "Pods "
	}
	return kind + strings.Join(names, ", ") + more
}

func podName(pod *corev1.Pod) string {
	name := pod.Namespace + "/" + pod.Name
	if owner := metav1.GetControllerOf(pod); owner != nil {
		name += " (" + owner.Kind + " " + owner.Name + ")"
	}
	return name
}
