// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package workload

import (
	"context"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// What tells the Pods that serve volumes from those that use them. A volume cannot be detached, nor its file system be
// written out, by what was evicted before its user was (kubevirt#8455).
const (
	// longhornNamespace is where Longhorn mostly is: all of it serves volumes.
	longhornNamespace = "longhorn-system"
	// longhornComponentLabel is on Longhorn's own Pods wherever they are, as instance and share managers.
	longhornComponentLabel = "longhorn.io/component"
	instanceManager        = "instance-manager"
	// appLabel of the Pods that serve CSI drivers has one of csiApps. Harvester leaves them out of its drains by it.
	appLabel = "app"
)

// csiApps are the sidecars of CSI drivers that run as Deployments of their own, as Longhorn's do.
func csiApps() []string {
	return []string{"csi-attacher", "csi-provisioner", "csi-resizer", "csi-snapshotter"}
}

const (
	// storageRuleName sorts behind every name that a MachineDrainRule can have, and the first rule that matches a Pod
	// counts: what a person has ruled for a Pod that serves volumes is honoured.
	storageRuleName = "~storage-last"
	// storageOrder leaves room for the orders that people use. Pods that no rule is about have order 0.
	storageOrder = 1_000_000
)

// storageLast is the management cluster with one more MachineDrainRule, for all Machines.
type storageLast struct{ client.Client }

// List adds our rule to those of the cluster.
func (s storageLast) List(ctx context.Context, list client.ObjectList, options ...client.ListOption) error {
	if err := s.Client.List(ctx, list, options...); err != nil {
		return err
	}
	if rules, isRules := list.(*clusterv1.MachineDrainRuleList); isRules {
		rules.Items = append(slices.Clip(rules.Items), storageRule())
	}
	return nil
}

func storageRule() clusterv1.MachineDrainRule {
	return clusterv1.MachineDrainRule{
		ObjectMeta: metav1.ObjectMeta{Name: storageRuleName},
		Spec: clusterv1.MachineDrainRuleSpec{
			Drain: clusterv1.MachineDrainRuleDrainConfig{
				Behavior: clusterv1.MachineDrainRuleDrainBehaviorDrain, Order: ptr.To[int32](storageOrder),
			},
			Pods: []clusterv1.MachineDrainRulePodSelector{
				{NamespaceSelector: &metav1.LabelSelector{MatchLabels: map[string]string{corev1.LabelMetadataName: longhornNamespace}}},
				{Selector: &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{
					{Key: longhornComponentLabel, Operator: metav1.LabelSelectorOpExists},
				}}},
				{Selector: &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{
					{Key: appLabel, Operator: metav1.LabelSelectorOpIn, Values: csiApps()},
				}}},
			},
		},
	}
}

// isOrdinary says whether a Pod does not serve volumes; it says of Pods what storageRule selects.
func isOrdinary(pod *corev1.Pod) bool {
	_, ofLonghorn := pod.Labels[longhornComponentLabel]
	return pod.Namespace != longhornNamespace && !ofLonghorn && !slices.Contains(csiApps(), pod.Labels[appLabel])
}

func isInstanceManager(pod *corev1.Pod) bool {
	return pod.Labels[longhornComponentLabel] == instanceManager
}
