// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package predicates_test

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/predicates"
)

var _ = Describe("Changed", func() {
	labels := predicates.Changed(func(node *corev1.Node) any { return node.Labels })
	node := func(name string, labels map[string]string) *corev1.Node {
		return &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels}}
	}

	DescribeTable("decides on an update by what is seen", func(before, after client.Object, passes bool) {
		Expect(labels.Update(event.UpdateEvent{ObjectOld: before, ObjectNew: after})).To(Equal(passes))
	},
		Entry("another label", node("a", map[string]string{"x": "1"}), node("a", map[string]string{"x": "2"}), true),
		Entry("nothing that is seen", node("a", map[string]string{"x": "1"}), node("b", map[string]string{"x": "1"}), false),
		Entry("empty in place of none", node("a", nil), node("a", map[string]string{}), false),
		Entry("objects of another type", &corev1.Pod{}, &corev1.Pod{}, true),
	)

	It("passes creations and deletions", func() {
		Expect(labels.Create(event.CreateEvent{Object: node("a", nil)})).To(BeTrue())
		Expect(labels.Delete(event.DeleteEvent{Object: node("a", nil)})).To(BeTrue())
	})
})

var _ = DescribeTable("PausedCondition", func(conditions []metav1.Condition, seen [2]string) {
	Expect(predicates.PausedCondition(&clusterv1.Machine{Status: clusterv1.MachineStatus{Conditions: conditions}})).To(Equal(seen))
},
	Entry("before there is one", nil, [2]string{}),
	Entry("with its message", []metav1.Condition{{Type: clusterv1.PausedCondition, Status: metav1.ConditionTrue, Message: "why"}}, [2]string{"True", "why"}),
)
