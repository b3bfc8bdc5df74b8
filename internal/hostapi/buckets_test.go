// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package hostapi

import (
	"fmt"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/types"
	clocktesting "k8s.io/utils/clock/testing"
)

var _ = Describe("Buckets", func() {
	var (
		clock *clocktesting.FakePassiveClock
		some  *buckets
	)
	one := types.NamespacedName{Namespace: "prod", Name: "m-1"}
	later := func(d time.Duration) { clock.SetTime(clock.Now().Add(d)) }

	BeforeEach(func() {
		clock = clocktesting.NewFakePassiveClock(time.Now())
		some = newBuckets(clock, 1, 3)
	})
	takes := func(key types.NamespacedName, tokens int) bool {
		_, taken := some.take(key, tokens)
		return taken
	}

	It("give what is in them, say when there is more, and are filled again", func() {
		Expect(takes(one, 2)).To(BeTrue())
		wait, taken := some.take(one, 2)
		Expect(taken).To(BeFalse(), "all or none")
		Expect(wait).To(BeNumerically("~", time.Second, time.Millisecond))
		Expect(takes(one, 1)).To(BeTrue())
		later(time.Second)
		Expect(takes(one, 1)).To(BeTrue())
		later(time.Hour)
		Expect(takes(one, 3)).To(BeTrue(), "not more than the burst")
		Expect(takes(one, 1)).To(BeFalse())
	})

	It("are each for one", func() {
		Expect(takes(one, 3)).To(BeTrue())
		Expect(takes(types.NamespacedName{Namespace: "test", Name: "m-1"}, 3)).To(BeTrue())
	})

	It("give a full one to what asks for more than fits", func() {
		Expect(takes(one, 10)).To(BeTrue())
		Expect(takes(one, 1)).To(BeFalse())
	})

	It("give nothing while they owe", func() {
		some.owe(one, 3)
		some.owe(one, 2)
		wait, taken := some.take(one, 1)
		Expect(taken).To(BeFalse())
		Expect(wait).To(BeNumerically("~", 3*time.Second, time.Millisecond))
		later(2900 * time.Millisecond)
		Expect(takes(one, 1)).To(BeFalse())
		later(200 * time.Millisecond)
		Expect(takes(one, 1)).To(BeTrue())
	})

	It("are forgotten when they are full again", func() {
		Expect(takes(one, 3)).To(BeTrue())
		later(2900 * time.Millisecond)
		takes(types.NamespacedName{Name: "m-2"}, 1)
		Expect(some.place).To(HaveKey(one))
		later(200 * time.Millisecond)
		takes(types.NamespacedName{Name: "m-3"}, 1)
		Expect(some.place).NotTo(HaveKey(one))
	})

	It("are never more than their limit", func() {
		some.limit = 10
		for n := range 100 {
			takes(types.NamespacedName{Name: fmt.Sprint(n)}, 3)
			Expect(len(some.place)).To(BeNumerically("<=", 10))
			Expect(some.order.Len()).To(Equal(len(some.place)))
		}
	})
})
