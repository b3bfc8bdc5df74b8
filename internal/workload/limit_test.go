// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package workload_test

import (
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/clock"
	clocktesting "k8s.io/utils/clock/testing"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/workload"
)

var _ = Describe("Limit", func() {
	a, b := client.ObjectKey{Namespace: "n", Name: "a"}, client.ObjectKey{Namespace: "n", Name: "b"}
	one := client.ObjectKey{Namespace: "n", Name: "one"}

	It("bounds what is at each cluster at a time", func() {
		const most = 2
		limit := workload.NewLimit(most, time.Second, clock.RealClock{})
		ends := []func(){}
		for range most {
			done, after := limit.Begin(a, one)
			Expect(after).To(BeZero())
			ends = append(ends, done)
		}
		done, after := limit.Begin(a, one)
		Expect(done).To(BeNil())
		Expect(after).To(BeNumerically("~", 1500*time.Millisecond, 500*time.Millisecond))
		done, after = limit.Begin(b, one)
		Expect(after).To(BeZero(), "another cluster")
		done()

		ends[0]()
		again, after := limit.Begin(a, one)
		Expect(after).To(BeZero())
		again()
		ends[1]()
	})

	It("leaves one to nodes that are being disrupted", func() {
		limit := workload.NewLimit(2, time.Second, clock.RealClock{})
		_, after := limit.BeginLast(a, one)
		Expect(after).To(BeZero())
		_, after = limit.BeginLast(a, one)
		Expect(after).NotTo(BeZero())
		_, after = limit.Begin(a, one)
		Expect(after).To(BeZero())
	})

	It("leaves workers for others", func() {
		const workers = 20
		limit, taken := workload.LimitFor(workers, time.Second), 0
		for {
			if done, _ := limit.Begin(a, one); done == nil {
				break
			}
			taken++
		}
		Expect(taken).To(Equal(3))
		_, after := workload.LimitFor(1, time.Second).Begin(a, one)
		Expect(after).To(BeZero(), "the only worker")
	})

	It("bounds nothing where there is none", func() {
		var none *workload.Limit
		for _, begin := range []func(client.ObjectKey, client.ObjectKey) (func(), time.Duration){none.Begin, none.BeginLast} {
			done, after := begin(a, one)
			Expect(after).To(BeZero())
			done()
		}
	})

	It("wakes who waits when another has ended, in their order, each once", func(ctx SpecContext) {
		limit := workload.NewLimit(2, time.Second, clock.RealClock{})
		queue := workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[ctrl.Request]())
		DeferCleanup(queue.ShutDown)
		Expect(limit.Source().Start(ctx, queue)).To(Succeed())
		first, _ := limit.Begin(a, one)
		second, _ := limit.Begin(a, one)
		for _, name := range []string{"looks", "drains", "looks"} {
			begin := limit.Begin
			if name == "looks" {
				begin = limit.BeginLast
			}
			done, after := begin(a, client.ObjectKey{Namespace: "n", Name: name})
			Expect(done).To(BeNil())
			Expect(after).To(BeNumerically(">=", 10*time.Second), "it is woken")
		}
		Expect(queue.Len()).To(BeZero())

		first()
		Expect(queue.Len()).To(Equal(1), "one place is left to nodes that are being disrupted")
		woken, _ := queue.Get()
		Expect(woken.Name).To(Equal("drains"))
		third, after := limit.Begin(a, woken.NamespacedName)
		Expect(after).To(BeZero())

		second()
		Expect(queue.Len()).To(BeZero(), "what only looks leaves the other place free")
		third()
		Expect(queue.Len()).To(Equal(1))
		woken, _ = queue.Get()
		Expect(woken.Name).To(Equal("looks"))
		done, _ := limit.BeginLast(a, woken.NamespacedName)
		done()
		Expect(queue.Len()).To(BeZero())
	})

	Context("that wakes", func() {
		var (
			queue workqueue.TypedRateLimitingInterface[ctrl.Request]
			now   *clocktesting.FakeClock
		)
		key := func(name string) client.ObjectKey { return client.ObjectKey{Namespace: "n", Name: name} }
		waking := func(ctx SpecContext, most int) *workload.Limit {
			now = clocktesting.NewFakeClock(time.Now())
			limit := workload.NewLimit(most, time.Second, now)
			queue = workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[ctrl.Request]())
			DeferCleanup(queue.ShutDown)
			Expect(limit.Source().Start(ctx, queue)).To(Succeed())
			return limit
		}
		next := func() string {
			GinkgoHelper()
			Expect(queue.Len()).To(Equal(1))
			woken, _ := queue.Get()
			queue.Done(woken)
			return woken.Name
		}
		waits := func(done func(), after time.Duration) {
			GinkgoHelper()
			Expect(done).To(BeNil())
			Expect(after).To(BeNumerically(">=", 10*time.Second))
		}

		It("keeps the place of one that was overtaken", func(ctx SpecContext) {
			limit := waking(ctx, 1)
			first, _ := limit.Begin(a, one)
			waits(limit.Begin(a, key("waits")))
			waits(limit.Begin(a, key("waits-too")))
			first()
			Expect(next()).To(Equal("waits"))
			overtakes, _ := limit.Begin(a, key("overtakes"))
			waits(limit.Begin(a, key("waits")))
			overtakes()
			Expect(next()).To(Equal("waits"))
		})

		It("wakes the next one when the one before does not come, and forgets it", func(ctx SpecContext) {
			limit := waking(ctx, 1)
			first, _ := limit.Begin(a, one)
			waits(limit.Begin(a, key("is-gone")))
			waits(limit.Begin(a, key("waits")))
			first()
			Expect(next()).To(Equal("is-gone"))
			another, _ := limit.Begin(a, one)
			another()
			Expect(next()).To(Equal("waits"))

			now.Step(31 * time.Second)
			another, _ = limit.Begin(a, one)
			waits(limit.Begin(a, key("is-gone")))
			now.Step(31 * time.Second)
			waits(limit.Begin(a, key("waits")))
			another()
			Expect(next()).To(Equal("waits"))
		})

		It("wakes a node that is being disrupted before those that are only looked at", func(ctx SpecContext) {
			limit := waking(ctx, 1)
			first, _ := limit.Begin(a, one)
			waits(limit.BeginLast(a, key("looks")))
			waits(limit.BeginLast(a, key("is-cordoned")))
			waits(limit.Begin(a, key("is-cordoned")))
			first()
			Expect(next()).To(Equal("is-cordoned"))
			cordoned, _ := limit.Begin(a, key("is-cordoned"))
			cordoned()
			Expect(next()).To(Equal("looks"))
		})
	})
})
