// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package workload_test

import (
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/workload"
)

var _ = Describe("Limit", func() {
	a, b := client.ObjectKey{Namespace: "n", Name: "a"}, client.ObjectKey{Namespace: "n", Name: "b"}

	It("bounds what is at each cluster at a time", func() {
		const most = 2
		limit := workload.NewLimit(most, time.Second)
		ends := []func(){}
		for range most {
			done, after := limit.Begin(a)
			Expect(after).To(BeZero())
			ends = append(ends, done)
		}
		done, after := limit.Begin(a)
		Expect(done).To(BeNil())
		Expect(after).To(BeNumerically("~", 1500*time.Millisecond, 500*time.Millisecond))
		done, after = limit.Begin(b)
		Expect(after).To(BeZero(), "another cluster")
		done()

		ends[0]()
		again, after := limit.Begin(a)
		Expect(after).To(BeZero())
		again()
		ends[1]()
	})

	It("leaves one to nodes that are being disrupted", func() {
		limit := workload.NewLimit(2, time.Second)
		_, after := limit.BeginLast(a)
		Expect(after).To(BeZero())
		_, after = limit.BeginLast(a)
		Expect(after).NotTo(BeZero())
		_, after = limit.Begin(a)
		Expect(after).To(BeZero())
	})

	It("leaves workers for others", func() {
		const workers = 20
		limit, taken := workload.LimitFor(workers, time.Second), 0
		for {
			if done, _ := limit.Begin(a); done == nil {
				break
			}
			taken++
		}
		Expect(taken).To(Equal(3))
		_, after := workload.LimitFor(1, time.Second).Begin(a)
		Expect(after).To(BeZero(), "the only worker")
	})

	It("bounds nothing where there is none", func() {
		var none *workload.Limit
		for _, begin := range []func(client.ObjectKey) (func(), time.Duration){none.Begin, none.BeginLast} {
			done, after := begin(a)
			Expect(after).To(BeZero())
			done()
		}
	})
})
