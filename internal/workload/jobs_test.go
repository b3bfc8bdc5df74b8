// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package workload

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

var _ = DescribeTable("a job is done", func(isDone func(map[string]any) bool, expected bool, object map[string]any) {
	Expect(isDone(object)).To(Equal(expected))
},
	Entry("a snapshot of which nothing is known", IsReadyToUse, false, map[string]any{}),
	Entry("a snapshot in progress", IsReadyToUse, false, map[string]any{"status": map[string]any{"readyToUse": false}}),
	Entry("a snapshot", IsReadyToUse, true, map[string]any{"status": map[string]any{"readyToUse": true}}),
	Entry("a snapshot that failed", IsReadyToUse, true, map[string]any{"status": map[string]any{"error": map[string]any{"message": "x"}}}),
	Entry("a snapshot with an empty error", IsReadyToUse, false, map[string]any{"status": map[string]any{"error": map[string]any{}}}),
	Entry("a restore in progress", IsComplete, false, map[string]any{"status": map[string]any{"complete": false}}),
	Entry("a restore", IsComplete, true, map[string]any{"status": map[string]any{"complete": true}}),
	Entry("a restore that failed", IsComplete, true, withCondition("Failure", "True")),
)

func withCondition(kind, status string) map[string]any {
	return map[string]any{"status": map[string]any{"conditions": []any{map[string]any{"type": kind, "status": status}}}}
}

var _ = It("An object of no namespace is described without one", func() {
	plan := &unstructured.Unstructured{Object: map[string]any{"kind": "Plan"}}
	plan.SetName("p")
	Expect(describe(plan)).To(Equal("Plan/p"))
})
