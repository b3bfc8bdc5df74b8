// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package upgrade_test

import (
	"context"
	"errors"
	"fmt"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/agent/image"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/wire"
)

// ordered is an order of the image of wanted.
func ordered() *wire.Prefetch { return &wire.Prefetch{ID: "edge", ImageURI: "oci://r/os:2"} }

// pinned is an attempt at the digest that an order has resolved.
func pinned(attempt string, apply bool) *wire.Upgrade {
	want := wanted(attempt)
	want.Digest, want.Apply = digestOf("2"), apply
	return want
}

var _ = Describe("An image order", func() {
	var (
		w   *world
		dir string
	)
	BeforeEach(func() { w, dir = newWorld(), memoryDir() })

	fetched := &wire.PrefetchStatus{ID: "edge", Phase: wire.PhaseFetched, Digest: digestOf("2")}

	fetch := func(ctx context.Context, order *wire.Prefetch) error { return w.agent(dir).Fetch(ctx, order, nil) }

	It("is fetched, and reported again by an agent that is restarted", func(ctx SpecContext) {
		Expect(fetch(ctx, ordered())).To(Succeed())
		Expect(w.ordered).To(Equal(fetched))
		Expect(w.downloaded).To(HaveKey(digestOf("2")))
		Expect(w.reported).To(BeEmpty(), "it is no attempt")
		w.ordered = nil
		w.agent(dir)
		Expect(w.ordered).To(Equal(fetched))
		Expect(fetch(ctx, ordered())).To(Succeed())
		Expect(w.did("download")).To(Equal(1))
	})

	It("is used by the attempt that comes, which asks no registry, and outlives it", func(ctx SpecContext) {
		Expect(fetch(ctx, ordered())).To(Succeed())
		w.resolve = []error{&image.Terminal{Message: "the registry is down"}}
		w.live(dir, pinned("a1", true))
		Expect(w.last().Phase).To(Equal(wire.PhaseSucceeded))
		Expect(w.did("resolve")).To(Equal(1))
		Expect(w.downloaded).To(HaveKey(digestOf("2")), "it is still ordered")
		Expect(fetch(ctx, nil)).To(Succeed())
		Expect(w.downloaded).To(BeEmpty())
	})

	It("does not spare an attempt the rules that its image has not passed", func(ctx SpecContext) {
		Expect(fetch(ctx, ordered())).To(Succeed())
		want := pinned("a1", false)
		want.ImageVerification = signedBy("somebody else")
		Expect(w.agent(dir).Advance(ctx, want, nil)).To(Succeed())
		Expect(w.last()).To(And(HaveField("Phase", wire.PhaseFailed), HaveField("Message", "it is not signed")))
		Expect(w.downloaded).To(HaveKey(digestOf("2")), "an attempt that has failed drops what is not ordered")
	})

	It("keeps its image when an attempt at another one is fetched, and withdrawn", func(ctx SpecContext) {
		Expect(fetch(ctx, ordered())).To(Succeed())
		w.digest = digestOf("3")
		other := wanted("a1")
		other.Apply = false
		Expect(w.agent(dir).Advance(ctx, other, nil)).To(Succeed())
		Expect(w.downloaded).To(And(HaveKey(digestOf("2")), HaveKey(digestOf("3"))))
		Expect(w.agent(dir).Advance(ctx, nil, nil)).To(Succeed())
		Expect(w.downloaded).To(And(HaveKey(digestOf("2")), HaveLen(1)))
	})

	It("that is removed leaves what an attempt needs, and drops it otherwise", func(ctx SpecContext) {
		Expect(fetch(ctx, ordered())).To(Succeed())
		Expect(w.agent(dir).Advance(ctx, pinned("a1", false), nil)).To(Succeed())
		Expect(fetch(ctx, nil)).To(Succeed())
		Expect(w.ordered).To(BeNil())
		Expect(w.downloaded).To(HaveKey(digestOf("2")))
		Expect(w.agent(dir).Advance(ctx, nil, nil)).To(Succeed())
		Expect(w.downloaded).To(BeEmpty())
	})

	It("for another image drops the former one", func(ctx SpecContext) {
		Expect(fetch(ctx, ordered())).To(Succeed())
		w.digest = digestOf("3")
		Expect(fetch(ctx, &wire.Prefetch{ID: "next", ImageURI: "oci://r/os:3"})).To(Succeed())
		Expect(w.ordered).To(Equal(&wire.PrefetchStatus{ID: "next", Phase: wire.PhaseFetched, Digest: digestOf("3")}))
		Expect(w.downloaded).To(And(HaveKey(digestOf("3")), HaveLen(1)))
	})

	It("is resolved once: a digest that it gets later is the one that is there", func(ctx SpecContext) {
		Expect(fetch(ctx, ordered())).To(Succeed())
		order := ordered()
		order.Digest = digestOf("2")
		Expect(fetch(ctx, order)).To(Succeed())
		Expect(w.did("resolve")).To(Equal(1))
		order.Digest = digestOf("3")
		Expect(fetch(ctx, order)).To(Succeed())
		Expect(w.ordered.Digest).To(Equal(digestOf("3")), "another host was first")
		Expect(w.downloaded).To(And(HaveKey(digestOf("3")), HaveLen(1)))
	})

	DescribeTable("that cannot be fetched says why, and is tried again", func(ctx SpecContext, spoil, mend func(*wire.Prefetch), message string) {
		order := ordered()
		spoil(order)
		Expect(fetch(ctx, order)).To(MatchError(ContainSubstring(message)))
		Expect(w.ordered).To(And(HaveField("Phase", wire.PhaseFailed), HaveField("Message", ContainSubstring(message))))
		Expect(w.downloaded).To(BeEmpty())
		mend(order)
		Expect(fetch(ctx, order)).To(Succeed())
		Expect(w.ordered).To(Equal(fetched))
	},
		Entry("for want of space", func(*wire.Prefetch) { w.free = 1 << 20 }, func(*wire.Prefetch) { w.free = 8 << 30 }, "not enough space on the state partition"),
		Entry("for want of a signature", func(o *wire.Prefetch) { o.ImageVerification = signedBy("nobody") },
			func(o *wire.Prefetch) { o.ImageVerification = signedBy(digestOf("2")) }, "it is not signed"),
		Entry("as there is no such image", func(*wire.Prefetch) { w.resolve = []error{&image.Terminal{Message: "no such tag"}} }, func(*wire.Prefetch) {}, "no such tag"),
	)

	It("waits for a registry as long as it takes, and says so at once", func(ctx SpecContext) {
		w.resolve = []error{errors.New("the registry is away")}
		said := []string{}
		w.onOrder = func(p *wire.PrefetchStatus) { said = append(said, p.Phase+" "+p.Message) }
		Expect(fetch(ctx, ordered())).To(Succeed())
		Expect(said).To(ContainElement(wire.PhaseFetching + " the registry is away"))
		Expect(w.ordered).To(Equal(fetched))
		for range 3 * w.policy.Registry.Attempts {
			w.resolve = append(w.resolve, errors.New("the registry is away"))
		}
		Expect(fetch(ctx, &wire.Prefetch{ID: "next", ImageURI: "oci://r/os:2"})).To(Succeed())
	})

	It("is interrupted by another wish, and goes on", func(ctx SpecContext) {
		newer := make(chan struct{})
		close(newer)
		w.resolve = []error{errors.New("the registry is away")}
		Expect(w.agent(dir).Fetch(ctx, ordered(), newer)).To(Succeed())
		Expect(w.downloaded).To(BeEmpty())
		Expect(fetch(ctx, ordered())).To(Succeed())
		Expect(w.ordered).To(Equal(fetched))
	})

	for _, after := range []bool{false, true} {
		It(fmt.Sprintf("is fetched by an agent that is killed at any moment (after the act: %t)", after), func(ctx SpecContext) {
			calm := newWorld()
			Expect(calm.agent(memoryDir()).Fetch(ctx, ordered(), nil)).To(Succeed())
			Expect(len(calm.calls)).To(BeNumerically(">", 8))
			for at := 1; at <= len(calm.calls); at++ {
				w, dir = newWorld(), memoryDir()
				w.killAt, w.killAfter = at, after
				living, die := context.WithCancel(ctx)
				w.die = die
				_ = w.agent(dir).Fetch(living, ordered(), nil)
				w.killed, w.killAt = false, 0
				Expect(fetch(ctx, ordered())).To(Succeed())
				Expect(w.ordered).To(Equal(fetched), "killed at %d, %s", at, calm.calls[at-1])
				Expect(w.downloaded).To(And(HaveKey(digestOf("2")), HaveLen(1)))
			}
		})
	}
})
