// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package upgrade_test

import (
	"errors"
	"os"
	"path/filepath"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/agent/assess"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/agent/osplugin"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/agent/upgrade"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/wire"
)

var _ = Describe("An attempt", func() {
	var (
		w   *world
		dir string
	)
	BeforeEach(func() { w, dir = newWorld(), memoryDir() })

	It("removes nothing when what was lost was no snapshot", func() {
		w.write = []func() error{func() error { return osplugin.ErrCorrupt }}
		w.live(dir, wanted("a1"))
		Expect(w.last().Phase).To(Equal(wire.PhaseSucceeded))
		Expect(w.did("discard")).To(BeZero())
	})

	It("waits for space while it is not triggered when what was downloaded is too large, and keeps that", func(ctx SpecContext) {
		w.unpacked, w.free = 320<<20, 711<<20
		Expect(w.agent(dir).Advance(ctx, untriggered(), nil)).To(MatchError(ContainSubstring("unpacked it has 320 MiB")))
		Expect(w.last()).To(And(HaveField("Phase", wire.PhaseFetching), HaveField("Message", ContainSubstring("unpacked it has 320 MiB"))))
		Expect(w.downloaded).NotTo(BeEmpty())
		w.free = 8 << 30
		Expect(w.agent(dir).Advance(ctx, untriggered(), nil)).To(Succeed())
		Expect(w.last()).To(And(HaveField("Phase", wire.PhaseFetched), HaveField("Message", BeEmpty())))
	})

	It("waits for a registry as long as it takes while it is not triggered, and says so", func(ctx SpecContext) {
		for range 3 * w.policy.Registry.Attempts {
			w.resolve = append(w.resolve, errors.New("the registry is away"))
		}
		Expect(w.agent(dir).Advance(ctx, untriggered(), nil)).To(Succeed())
		Expect(w.reported).To(ContainElement(And(HaveField("Phase", wire.PhaseFetching), HaveField("Message", "the registry is away"))))
		Expect(w.last()).To(And(HaveField("Phase", wire.PhaseFetched), HaveField("Message", BeEmpty())))
	})

	It("waits for a registry no longer when it is asked for something else", func(ctx SpecContext) {
		newer := make(chan struct{})
		close(newer)
		w.resolve = []error{errors.New("the registry is away")}
		Expect(w.agent(dir).Advance(ctx, untriggered(), &upgrade.Interrupts{Newer: newer})).To(Succeed())
		Expect(w.last().Phase).To(Equal(wire.PhaseFetching))
		other := untriggered()
		other.Digest = digestOf("3")
		Expect(w.agent(dir).Advance(ctx, other, &upgrade.Interrupts{Newer: newer})).To(Succeed(), "what does not wait is not interrupted")
		Expect(w.last()).To(And(HaveField("Phase", wire.PhaseFetched), HaveField("Digest", digestOf("3"))))
	})

	It("judges another image by its own size", func(ctx SpecContext) {
		want := wanted("a1")
		want.Apply = false
		w.live(dir, want)
		Expect(w.last().Phase).To(Equal(wire.PhaseFetched))
		w.free, want.Digest = 400<<20, digestOf("3")
		Expect(w.agent(dir).Advance(ctx, want, nil)).NotTo(Succeed())
		Expect(w.last().Message).To(ContainSubstring("5 times its compressed size"), "it has not been downloaded")
	})

	DescribeTable("needs space for its download in the work directory", func(work int64, phase, message string) {
		w.work = work
		w.live(dir, wanted("a1"))
		Expect(w.last()).To(And(HaveField("Phase", phase), HaveField("Message", HavePrefix(message))))
	},
		Entry("just enough", int64(100<<20), wire.PhaseSucceeded, ""),
		Entry("too little", int64(100<<20-1), wire.PhaseFailed, "not enough space to download image "+digestOf("2")+": it has 100 MiB, 99 MiB are free"),
	)

	It("needs none for what has been downloaded before", func() {
		w.had, w.work = 60<<20, 40<<20
		w.live(dir, wanted("a1"))
		Expect(w.last().Phase).To(Equal(wire.PhaseSucceeded))
	})

	It("starts to count from zero once what could not be removed was removed", func() {
		left := 2
		w.busy = func() bool { left--; return left >= 0 }
		w.write = []func() error{func() error { left = 2; return errors.New("no space left on device") }}
		w.live(dir, wanted("a1"))
		Expect(w.last().Phase).To(Equal(wire.PhaseSucceeded))
		Expect(w.boots).To(Equal(2), "four failures are one too many, and would have brought a reboot")
	})

	It("goes on from what was not completely written when that ran before", func() {
		w.snapshots[1] = snap{digest: digestOf("1"), whole: true, unrecorded: true}
		w.live(dir, wanted("a1"))
		Expect(w.last().Phase).To(Equal(wire.PhaseSucceeded))
		Expect(w.boots).To(Equal(2))
	})

	It("is still there when its file cannot be removed", func() {
		w.live(dir, wanted("a1"))
		marker := filepath.Join(dir, upgrade.MarkerFile)
		machine := w.agent(dir)
		Expect(os.Remove(marker)).To(Succeed())
		Expect(os.MkdirAll(filepath.Join(marker, "in-the-way"), 0o700)).To(Succeed())
		Expect(machine.Advance(GinkgoT().Context(), nil, nil)).NotTo(Succeed())
		Expect(machine.Marker().Attempt).To(Equal("a1"))
	})

	It("reports a check again when its output changes", func() {
		first := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
		for minute, said := range []string{"one", "two"} {
			w.verdicts = append(w.verdicts, assess.Verdict{State: assess.Undecided, Checks: []wire.Check{{
				Name: "x", Verdict: wire.CheckWaiting, Output: said, Since: first.Add(time.Duration(minute) * time.Minute),
			}}})
		}
		w.live(dir, wanted("a1"))
		Expect(w.last().Checks).To(ContainElement(And(HaveField("Name", "x"), HaveField("Output", "two"),
			HaveField("Since", BeTemporally("==", first.Add(time.Minute))))))
	})
})
