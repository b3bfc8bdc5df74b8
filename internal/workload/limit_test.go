// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package workload_test

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/workload"
)

var _ = Describe("Limit", func() {
	a, b := client.ObjectKey{Namespace: "n", Name: "a"}, client.ObjectKey{Namespace: "n", Name: "b"}

	It("bounds what is at each cluster at a time", func() {
		const most = 2
		limit := workload.NewLimit(most)
		ends := []func(){}
		for range most {
			done, ok := limit.Begin(a)
			Expect(ok).To(BeTrue())
			ends = append(ends, done)
		}
		_, ok := limit.Begin(a)
		Expect(ok).To(BeFalse())
		done, ok := limit.Begin(b)
		Expect(ok).To(BeTrue(), "another cluster")
		done()

		ends[0]()
		again, ok := limit.Begin(a)
		Expect(ok).To(BeTrue())
		again()
		ends[1]()
	})

	It("leaves workers for others", func() {
		const workers = 20
		limit, taken := workload.LimitFor(workers), 0
		for {
			if _, ok := limit.Begin(a); !ok {
				break
			}
			taken++
		}
		Expect(taken).To(Equal(3))
		_, ok := workload.LimitFor(1).Begin(a)
		Expect(ok).To(BeTrue(), "the only worker")
	})

	It("bounds nothing where there is none", func() {
		var none *workload.Limit
		done, ok := none.Begin(a)
		Expect(ok).To(BeTrue())
		done()
	})
})
