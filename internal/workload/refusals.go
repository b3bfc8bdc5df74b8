// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package workload

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/cluster-api/core/reconcilers/machine/drain"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const (
	// namedPods and namedCauses are how many Pods, and how many causes other than PodDisruptionBudgets, a message names.
	namedPods, namedCauses = 3, 3
	// longestCause is how many bytes of what an API server or a webhook says are shown.
	longestCause = 256
	// budgetRefusal begins what an API server answers that a PodDisruptionBudget keeps from evicting, and notTried what
	// Cluster API's drain says of Pods that it had no time for. Neither says anything of its own about a Pod.
	budgetRefusal, notTried = "Cannot evict pod as it would violate the pod's disruption budget.", "eviction timeout of "
)

// blocker describes what refuses evictions, what was evicted and does not end, what else is under way, and nothing that changes while it goes on refusing.
func (c *Cluster) blocker(ctx context.Context, node *corev1.Node, leaving Leaving, result drain.EvictionResult) (string, error) {
	causes, err := c.refusals(ctx, node.Name, result.PodsFailedEviction)
	if err != nil {
		return "", err
	}
	causes = append(causes, lingering(result.PodsDeletionTimestampSet, node, leaving)...)
	if len(causes) == 0 && len(result.PodsToWaitCompletedNow) == 0 {
		return "", nil
	}
	if len(result.PodsToWaitCompletedNow) > 0 {
		causes = append(causes, "waiting for "+PodList(result.PodsToWaitCompletedNow)+" to complete")
	}
	for _, others := range []struct {
		pods []*corev1.Pod
		are  string
	}{
		{result.PodsDeletionTimestampSet, "being deleted"},
		{slices.Concat(result.PodsToTriggerEvictionLater, untried(result)), "to be evicted later"},
		{result.PodsToWaitCompletedLater, "to be waited for later"},
	} {
		if count := len(others.pods); count > 0 {
			causes = append(causes, fmt.Sprintf("%d %s", count, others.are))
		}
	}
	return strings.Join(causes, "; "), nil
}

// untried are the Pods that the drain had no time for.
func untried(result drain.EvictionResult) []*corev1.Pod {
	pods := []*corev1.Pod{}
	for said, of := range result.PodsFailedEviction {
		if strings.HasPrefix(said, notTried) {
			pods = append(pods, of...)
		}
	}
	return pods
}

// refusals are the causes of refused evictions, each with its Pods: PodDisruptionBudgets first, by name.
func (c *Cluster) refusals(ctx context.Context, node string, failed map[string][]*corev1.Pod) ([]string, error) {
	guarded, others := []*corev1.Pod{}, maps.Clone(failed)
	maps.DeleteFunc(others, func(said string, pods []*corev1.Pod) bool {
		if strings.HasPrefix(said, budgetRefusal) {
			guarded = append(guarded, pods...)
		}
		return strings.HasPrefix(said, notTried)
	})
	byBudgets, err := c.nameRefusal(ctx, node, guarded)
	if err != nil || byBudgets == "" {
		return otherCauses(others), err
	}
	maps.DeleteFunc(others, func(said string, _ []*corev1.Pod) bool { return strings.HasPrefix(said, budgetRefusal) })
	return append([]string{byBudgets}, otherCauses(others)...), nil
}

// otherCauses are what API server and webhooks say, shortened, in the order of their texts.
func otherCauses(said map[string][]*corev1.Pod) []string {
	causes, more := []string{}, 0
	for _, cause := range slices.Sorted(maps.Keys(said)) {
		if len(causes) == namedCauses {
			more += len(said[cause])
			continue
		}
		causes = append(causes, PodList(said[cause])+" cannot be evicted: "+shortened(cause))
	}
	if more > 0 {
		causes = append(causes, fmt.Sprintf("%d cannot be evicted for other causes", more))
	}
	return causes
}

// shortened is a cause on one line. An eviction that was not answered in time names the API server's address, and not why:
// client-go tries again for all of that time what it is told to try later.
func shortened(cause string) string {
	if strings.HasSuffix(cause, context.DeadlineExceeded.Error()) {
		return "its API server does not answer in time, or asks to try later, as for a PodDisruptionBudget that was changed and not looked at since"
	}
	cause = strings.Join(strings.Fields(cause), " ")
	if len(cause) <= longestCause {
		return cause
	}
	return strings.ToValidUTF8(cause[:longestCause], "") + "..."
}

// nameRefusal names the PodDisruptionBudgets that refuse evictions, and for whose sake.
func (c *Cluster) nameRefusal(ctx context.Context, node string, refused []*corev1.Pod) (string, error) {
	budgets, err := c.nameBudgets(ctx, refused)
	if err != nil || budgets == "" {
		return "", err
	}
	because, err := c.refusedBecause(ctx, node, refused)
	return budgets + because, err
}

// nameBudgets names the PodDisruptionBudgets behind refused evictions; empty where none of them is known to refuse, as one that
// its controller has not looked at yet.
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
		return "", nil
	}
	return fmt.Sprintf("PodDisruptionBudget %s allows no eviction of %s", strings.Join(names, ", "), PodList(refused)), nil
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

// PodList describes Pods with their owners, sorted and cut to a few.
func PodList(pods []*corev1.Pod) string {
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
