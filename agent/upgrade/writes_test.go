// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package upgrade_test

import (
	"context"
	"errors"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/agent/osplugin"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/wire"
)

// stopped is a host whose agent is stopped while it verifies a snapshot.
type stopped struct {
	*world
	left int // verifications until then
	stop context.CancelFunc
}

func (s *stopped) VerifySnapshot(ctx context.Context, verification osplugin.Verification) error {
	if s.left--; s.left == 0 {
		s.stop()
	}
	return s.world.VerifySnapshot(ctx, verification)
}

var _ = Describe("An attempt that writes the image", func() {
	var w *world
	BeforeEach(func() { w = newWorld() })

	It("lets no time pass without a failure", func() {
		began := w.clock.Now()
		w.bootsInto = func() int32 {
			Expect(w.clock.Now()).To(Equal(began))
			return w.link
		}
		w.live(memoryDir(), wanted("a1"))
		Expect(w.boots).To(Equal(2))
	})

	It("lets some time pass after its first failure", func() {
		began := w.clock.Now()
		w.write = []func() error{func() error { return errors.New("no space left on device") }}
		w.bootsInto = func() int32 {
			Expect(w.clock.Now()).To(BeTemporally(">", began))
			return w.link
		}
		w.live(memoryDir(), wanted("a1"))
		Expect(w.boots).To(Equal(2))
	})

	It("leaves what is booted the default when the space is gone after a try that chose something else", func() {
		w.write = []func() error{func() error {
			w.snapshots[2], w.link, w.free = snap{digest: digestOf("7"), whole: true}, 2, 0
			return errors.New("no space left on device")
		}}
		w.live(memoryDir(), wanted("a1"))
		Expect(w.last().Phase).To(Equal(wire.PhaseFailed))
		Expect(w.link).To(Equal(w.booted))
	})

	It("counts no failure when its agent is stopped while it verifies what is booted", func(ctx SpecContext) {
		w.uncertain = 9
		w.write = []func() error{func() error {
			w.snapshots[2], w.link = snap{digest: w.digest, attempt: "a1", whole: true}, 2
			w.reboot()
			return errRebooted
		}}
		ending, stop := context.WithCancel(ctx)
		defer stop()
		dir, host := memoryDir(), &stopped{world: w, left: 3, stop: stop}
		for ending.Err() == nil {
			machine := w.agent(dir)
			machine.Plugin = host
			Expect(machine.Advance(ending, wanted("a1"), nil)).NotTo(Succeed())
		}
		Expect(w.agent(dir).Marker().Failures).To(Equal(2))
		Expect(w.boots).To(Equal(2))
	})

	It("gives up without removing what is booted", func() {
		w.uncertain = 9
		w.write = []func() error{func() error {
			w.snapshots[2], w.link = snap{digest: w.digest, attempt: "a1", whole: true}, 2
			w.reboot()
			w.killed = true
			return errKilled
		}}
		w.bootsInto = func() int32 { w.link = 2; return 2 }
		w.live(memoryDir(), wanted("a1"))
		Expect(w.last().Phase).To(Equal(wire.PhaseFailed))
		Expect(w.snapshots).To(HaveKey(w.booted))
	})

	It("gives up without removing anything when nothing was written", func() {
		broken := func() error { return errors.New("no space left on device") }
		w.write = []func() error{broken, broken, broken}
		w.live(memoryDir(), wanted("a1"))
		Expect(w.last().Phase).To(Equal(wire.PhaseFailed))
		Expect(w.did("discard")).To(BeZero())
	})
})
