// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package upgrade_test

import (
	"context"
	"os"
	"path/filepath"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/onsi/gomega/types"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/agent/assess"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/agent/upgrade"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/wire"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/specs"
)

// isAssessed has the world be a host that has booted the new OS, and remembers more of the attempt.
func (w *world) isAssessed(dir, more string) {
	GinkgoHelper()
	marker := `{"attempt":"a1","phase":"Assessing","digest":"` + digestOf("2") + `","fromSnapshot":1,"wantedSnapshot":2` + more + `}`
	Expect(os.WriteFile(filepath.Join(dir, upgrade.MarkerFile), []byte(marker), 0o600)).To(Succeed())
	w.snapshots[2], w.link, w.booted = snap{digest: digestOf("2"), attempt: "a1", whole: true}, 2, 2
}

// asked is a host of which something happens while it is assessed.
type asked struct {
	*world
	meanwhile func(context.Context)
}

func (a *asked) Assess(ctx context.Context, question assess.Question) (assess.Verdict, error) {
	a.meanwhile(ctx)
	if ctx.Err() != nil && len(a.verdicts) == 0 {
		return assess.Verdict{}, ctx.Err()
	}
	return a.world.Assess(ctx, question)
}

var _ = Describe("The time for an assessment", func() {
	var (
		w   *world
		dir string
	)

	BeforeEach(func() {
		w, dir = newWorld(), memoryDir()
		w.isAssessed(dir, "")
	})

	It("is not up when the agent is stopped meanwhile", func(ctx SpecContext) {
		running, stop := context.WithCancel(ctx)
		machine := w.agent(dir)
		machine.Plugin = &asked{world: w, meanwhile: func(context.Context) { stop() }}
		Expect(machine.Advance(running, wanted("a1"), nil)).To(MatchError(context.Canceled))
		Expect(machine.Marker().Phase).To(Equal(wire.PhaseAssessing))
	})

	It("is not up for an answer that comes at its end", func(ctx SpecContext) {
		w.policy.AssessTimeout, w.policy.StableWindow = 10*time.Millisecond, 0
		w.verdicts = []assess.Verdict{{State: assess.Good}}
		machine := w.agent(dir)
		machine.Plugin = &asked{world: w, meanwhile: func(ctx context.Context) { <-ctx.Done() }}
		Expect(machine.Advance(ctx, wanted("a1"), nil)).To(Succeed())
		Expect(w.last().Phase).To(Equal(wire.PhaseSucceeded))
	}, SpecTimeout(specs.Patience))

	It("of staying good is not up for a boot that was good, and is not any more", func() {
		w.verdicts = []assess.Verdict{{State: assess.Good}, {State: assess.Good}, {State: assess.Good}, {State: assess.Undecided}}
		w.live(dir, wanted("a1"))
		Expect(w.last().Phase).To(Equal(wire.PhaseSucceeded))
		stable := func(verdict string) types.GomegaMatcher {
			return ContainElement(And(HaveField("Phase", wire.PhaseAssessing),
				HaveField("Checks", ContainElement(And(HaveField("Name", "stable"), HaveField("Verdict", verdict))))))
		}
		Expect(w.reported).To(stable(wire.CheckWaiting))
		Expect(w.reported).NotTo(stable(wire.CheckPassed))
	})

	It("is no reason where there is another when it ends", func() {
		for range w.policy.AssessTimeout / w.policy.AssessInterval {
			w.verdicts = append(w.verdicts, assess.Verdict{State: assess.Undecided})
		}
		w.verdicts = append(w.verdicts, bad)
		w.live(dir, wanted("a1"))
		Expect(w.last()).To(And(HaveField("Phase", wire.PhaseRolledBack), HaveField("Message", HaveSuffix("its assessment failed: the kubelet is broken"))))
	})
})

var _ = DescribeTable("Space that is just enough is enough", func(unpacked, free int64) {
	w := newWorld()
	w.unpacked, w.free = unpacked, free
	w.live(memoryDir(), wanted("a1"))
	Expect(w.last().Phase).To(Equal(wire.PhaseSucceeded))
},
	Entry("before the download", int64(1<<20), int64(500<<20)),
	Entry("after it", int64(320<<20), int64(2*(320<<20+20<<20)+32<<20)),
)
