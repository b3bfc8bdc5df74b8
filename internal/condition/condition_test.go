// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package condition_test

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/cluster-api/util/conditions"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/condition"
)

var _ = Describe("A condition", func() {
	var host *infrav1.ElementalHost
	BeforeEach(func() { host = &infrav1.ElementalHost{ObjectMeta: metav1.ObjectMeta{Generation: 7}} })

	DescribeTable("is set",
		func(set func(*infrav1.ElementalHost), status metav1.ConditionStatus, reason, message string) {
			set(host)
			Expect(conditions.Get(host, "C")).To(HaveValue(SatisfyAll(
				HaveField("Status", status), HaveField("Reason", reason),
				HaveField("Message", message), HaveField("ObservedGeneration", int64(7)),
			)))
		},
		Entry("to True", func(h *infrav1.ElementalHost) { condition.True(h, "C") }, metav1.ConditionTrue, "Ready", ""),
		Entry("to True for a reason", func(h *infrav1.ElementalHost) { condition.TrueBecause(h, "C", "R", "%s!", "a") },
			metav1.ConditionTrue, "R", "a!"),
		Entry("to False", func(h *infrav1.ElementalHost) { condition.False(h, "C", "R", "%d of %d", 1, 2) },
			metav1.ConditionFalse, "R", "1 of 2"),
		Entry("to Unknown", func(h *infrav1.ElementalHost) { condition.Unknown(h, "C", "R", "cannot tell") },
			metav1.ConditionUnknown, "R", "cannot tell"),
	)

	It("keeps the time of its transition while it says the same", func() {
		condition.False(host, "C", "R", "waits")
		at := metav1.Unix(1, 0)
		host.Status.Conditions[0].LastTransitionTime = at
		condition.False(host, "C", "R", "waits")
		Expect(conditions.Get(host, "C").LastTransitionTime).To(Equal(at))
	})
})
