// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package workload

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// mostBudgets is how many PodDisruptionBudgets are looked at.
const mostBudgets = 500

// ClosedBudgets are the PodDisruptionBudgets that have Pods and allow no eviction at the moment, as "namespace/name", sorted. Those that residents keep are
// not among them: what of theirs leaves a Node does so without them.
func (c *Cluster) ClosedBudgets(ctx context.Context) ([]string, error) {
	budgets := &policyv1.PodDisruptionBudgetList{}
	if err := c.live.List(ctx, budgets, client.Limit(mostBudgets)); err != nil {
		return nil, fmt.Errorf("listing PodDisruptionBudgets: %w", err)
	}
	serving, names := c.servingPods(), []string{}
	for i := range budgets.Items {
		budget := &budgets.Items[i]
		if budget.Status.DisruptionsAllowed > 0 || budget.Status.ExpectedPods == 0 || metav1.GetControllerOf(budget) != nil || isOfAny(serving, budget) {
			continue
		}
		names = append(names, budget.Namespace+"/"+budget.Name)
	}
	slices.Sort(names)
	return names, nil
}

// isOfAny reports whether a budget is that of Pods which serve volumes.
func isOfAny(serving []clusterv1.MachineDrainRulePodSelector, budget *policyv1.PodDisruptionBudget) bool {
	of, in := labels.Set{}, labels.Set{corev1.LabelMetadataName: budget.Namespace}
	if budget.Spec.Selector != nil {
		of = budget.Spec.Selector.MatchLabels
	}
	return slices.ContainsFunc(serving, func(pods clusterv1.MachineDrainRulePodSelector) bool {
		return selects(pods.Selector, of) && selects(pods.NamespaceSelector, in)
	})
}
