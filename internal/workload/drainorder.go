// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package workload

import (
	"context"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// csiPods are the sidecars of CSI drivers that run as Deployments of their own, as Longhorn's do. Harvester leaves them out
// of its drains by this label.
func csiPods() clusterv1.MachineDrainRulePodSelector {
	return clusterv1.MachineDrainRulePodSelector{Selector: &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{
		Key: "app", Operator: metav1.LabelSelectorOpIn, Values: []string{"csi-attacher", "csi-provisioner", "csi-resizer", "csi-snapshotter"},
	}}}}
}

const (
	// storageRuleName sorts behind every name that a MachineDrainRule can have, and the first rule that matches a Pod
	// counts: what a person has ruled for a Pod that serves volumes is honoured.
	storageRuleName = "~storage-last"
	// storageOrder leaves room for the orders that people use. Pods that no rule is about have order 0.
	storageOrder = 1_000_000
)

// storageLast is the management cluster with one more MachineDrainRule, for all Machines: the Pods that serve volumes go
// last. A volume cannot be detached, nor its file system be written out, by what was evicted before its user was
// (kubevirt#8455).
type storageLast struct {
	client.Client
	// serving select the Pods that serve volumes.
	serving []clusterv1.MachineDrainRulePodSelector
}

// List adds our rule to those of the cluster.
func (s storageLast) List(ctx context.Context, list client.ObjectList, options ...client.ListOption) error {
	if err := s.Client.List(ctx, list, options...); err != nil {
		return err
	}
	if rules, isRules := list.(*clusterv1.MachineDrainRuleList); isRules {
		rules.Items = append(slices.Clip(rules.Items), s.rule())
	}
	return nil
}

func (s storageLast) rule() clusterv1.MachineDrainRule {
	return clusterv1.MachineDrainRule{
		ObjectMeta: metav1.ObjectMeta{Name: storageRuleName},
		Spec: clusterv1.MachineDrainRuleSpec{
			Drain: clusterv1.MachineDrainRuleDrainConfig{
				Behavior: clusterv1.MachineDrainRuleDrainBehaviorDrain, Order: ptr.To[int32](storageOrder),
			},
			Pods: s.serving,
		},
	}
}

// isOrdinary reports whether a Pod does not serve volumes; it says of Pods what the rule selects.
func (s storageLast) isOrdinary(pod *corev1.Pod) bool {
	return !slices.ContainsFunc(s.serving, func(serving clusterv1.MachineDrainRulePodSelector) bool {
		return selects(serving.Selector, pod.Labels) &&
			selects(serving.NamespaceSelector, labels.Set{corev1.LabelMetadataName: pod.Namespace})
	})
}

// selects reports whether a selector of a MachineDrainRule selects what has the labels. One that is not set selects everything.
func selects(selector *metav1.LabelSelector, set labels.Set) bool {
	if selector == nil {
		return true
	}
	parsed, err := metav1.LabelSelectorAsSelector(selector)
	return err == nil && parsed.Matches(set)
}
