// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package upgrade_test

import (
	"context"
	"errors"
	"fmt"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/agent/assess"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/agent/osplugin"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/wire"
)

// failing is a host on which one call of a step fails.
type failing struct {
	*world
	step string
	left int // calls until then
}

func (f *failing) fails(step string) error {
	if f.step == step {
		f.left--
		if f.left == 0 {
			return errBusy
		}
	}
	return nil
}

func (f *failing) Facts(ctx context.Context) (osplugin.Facts, error) {
	facts, err := f.world.Facts(ctx)
	return facts, errors.Join(err, f.fails("facts"))
}

func (f *failing) Written(ctx context.Context, attempt, digest string) (int32, error) {
	written, err := f.world.Written(ctx, attempt, digest)
	return written, errors.Join(err, f.fails("written"))
}

func (f *failing) Space(ctx context.Context) (osplugin.Space, error) {
	space, err := f.world.Space(ctx)
	return space, errors.Join(err, f.fails("space"))
}

func (f *failing) Before(ctx context.Context, bootstrapped bool) (assess.UnitStates, error) {
	before, err := f.world.Before(ctx, bootstrapped)
	return before, errors.Join(err, f.fails("before"))
}

func (f *failing) BeforeUpgrade(ctx context.Context) (assess.Verdict, error) {
	verdict, err := f.world.BeforeUpgrade(ctx)
	return verdict, errors.Join(err, f.fails("before upgrade"))
}

func (f *failing) Assess(ctx context.Context, question assess.Question) (assess.Verdict, error) {
	verdict, err := f.world.Assess(ctx, question)
	return verdict, errors.Join(err, f.fails("assess"))
}

func (f *failing) Check(ctx context.Context, before assess.UnitStates) (assess.Verdict, error) {
	verdict, err := f.world.Check(ctx, before)
	return verdict, errors.Join(err, f.fails("check"))
}

func (f *failing) BootNewest(ctx context.Context) error {
	return errors.Join(f.world.BootNewest(ctx), f.fails("boot newest"))
}

func (f *failing) Drop(keep ...string) error {
	return errors.Join(f.world.Drop(keep...), f.fails("drop"))
}

var _ = Describe("A step that fails once", func() {
	DescribeTable("is told of each time, and done again", func(change func(*world), phase string, steps ...string) {
		calm := newWorld()
		change(calm)
		calm.live(memoryDir(), wanted("a1"))
		for _, step := range steps {
			calls := calm.did(step)
			Expect(calls).To(BeNumerically(">", 0), step)
			for nth := 1; nth <= calls; nth++ {
				w, dir := newWorld(), memoryDir()
				change(w)
				host := &failing{world: w, step: step, left: nth}
				err := errRebooted
				for errors.Is(err, errRebooted) {
					machine := w.agent(dir)
					machine.Plugin, machine.Images = host, host
					err = machine.Advance(context.Background(), wanted("a1"), nil)
				}
				Expect(err).To(MatchError(errBusy), fmt.Sprintf("%s, call %d of %d", step, nth, calls))
				w.live(dir, wanted("a1"))
				Expect(w.last().Phase).To(Equal(phase), fmt.Sprintf("%s, call %d of %d", step, nth, calls))
				Expect(w.written).To(Equal(calm.written), "what is written is not written again")
			}
		}
	},
		Entry("on the way to another OS", func(*world) {}, wire.PhaseSucceeded,
			"facts", "written", "space", "before", "before upgrade", "assess", "check", "boot newest", "drop"),
		Entry("on the way back", func(w *world) { w.verdicts = []assess.Verdict{bad} }, wire.PhaseRolledBack, "facts"),
		Entry("where the OS runs already", func(w *world) { w.snapshots[1] = snap{digest: w.digest, whole: true} }, wire.PhaseSucceeded,
			"facts", "assess", "check"),
	)
})

var _ = Describe("An attempt that has waited for others", func() {
	It("does not say so any more when the host goes down", func() {
		w := newWorld()
		w.verdicts = []assess.Verdict{bad}
		w.bootsInto = func() int32 {
			if w.boots == 2 {
				w.others = []string{"an upgrade is running"}
			} else {
				Expect(w.last().Message).To(HaveSuffix("its assessment failed: the kubelet is broken"))
			}
			return w.link
		}
		w.live(memoryDir(), wanted("a1"))
		Expect(w.boots).To(Equal(3))
		Expect(w.reported).To(ContainElement(HaveField("Message", "waiting: an upgrade is running")))
	})
})
