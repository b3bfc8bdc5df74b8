// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package predrain

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/event"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/workload"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/workload/kubevirt"
)

var _ = DescribeTable("A Node wakes the controller", func(before, after *corev1.Node, expected bool) {
	Expect(labelChanged(workload.Residents{kubevirt.Resident{}}).Update(event.UpdateEvent{ObjectOld: before, ObjectNew: after})).To(Equal(expected))
},
	Entry("not by a report of its kubelet", ready(corev1.ConditionTrue), &corev1.Node{}, false),
	Entry("not by another label", labelled("true"), withLabel(labelled("true"), "zone", "a"), false),
	Entry("when KubeVirt comes", &corev1.Node{}, labelled("false"), true),
	Entry("when virt-handler begins", labelled("false"), labelled("true"), true),
	Entry("when virt-handler ends", labelled("true"), labelled("false"), true),
	Entry("when KubeVirt goes", labelled("false"), &corev1.Node{}, true),
	Entry("when its kubelet answers no more", ready(corev1.ConditionTrue), ready(corev1.ConditionUnknown), true),
)

func labelled(value string) *corev1.Node {
	return withLabel(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n"}}, kubevirt.SchedulableLabel, value)
}

func withLabel(node *corev1.Node, key, value string) *corev1.Node {
	if node.Labels == nil {
		node.Labels = map[string]string{}
	}
	node.Labels[key] = value
	return node
}

func ready(status corev1.ConditionStatus) *corev1.Node {
	return &corev1.Node{Status: corev1.NodeStatus{Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: status}}}}
}
