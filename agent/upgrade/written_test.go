// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package upgrade_test

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/wire"
)

var _ = Describe("An attempt that writes", func() {
	DescribeTable("boots no snapshot whose files are not on the disk",
		func(corrupts int, phase, message string, written, boots int) {
			w := newWorld()
			w.corrupts = corrupts
			w.live(memoryDir(), wanted("a1"))
			Expect(w.last()).To(And(HaveField("Phase", phase), HaveField("Message", message)))
			Expect(w.written).To(Equal(written))
			Expect(w.boots).To(Equal(boots))
			Expect(w.link).To(Equal(w.booted))
		},
		Entry("but another try", 1, wire.PhaseSucceeded, "", 2, 2),
		Entry("and gives up", 9, wire.PhaseFailed, "writing the image failed (3 of 3): 3 of 9 files are not as they were written", 3, 1),
	)

	It("does not verify a snapshot that somebody has booted meanwhile, but judges its boot", func() {
		w, dir := newWorld(), memoryDir()
		w.killAt, w.corrupts = 0, 1
		w.write = []func() error{func() error {
			w.snapshots[2] = snap{digest: w.digest, attempt: "a1", whole: true, corrupt: true}
			w.link = 2
			w.reboot()
			return errRebooted
		}}
		w.live(dir, wanted("a1"))
		Expect(w.last()).To(HaveField("Phase", wire.PhaseSucceeded))
		Expect(w.did("verify snapshot")).To(BeZero())
	})

	DescribeTable("tries to remove what a killed upgrade left a few times, and then reboots, once",
		func(busy func(w *world, tries int) bool, phase, message string, tries, boots int) {
			w := newWorld()
			w.busy = func() bool { return busy(w, w.did("clean")) }
			w.live(memoryDir(), wanted("a1"))
			Expect(w.last()).To(And(HaveField("Phase", phase), HaveField("Message", HavePrefix(message))))
			Expect(w.did("clean")).To(Equal(tries))
			Expect(w.boots).To(Equal(boots))
			if phase == wire.PhaseFailed {
				Expect(w.written).To(BeZero())
				Expect(w.link).To(BeEquivalentTo(1))
			}
		},
		Entry("removed at the third try", func(_ *world, tries int) bool { return tries < 3 }, wire.PhaseSucceeded, "", 3, 2),
		Entry("removed after the reboot", func(w *world, _ int) bool { return w.boots == 1 }, wire.PhaseSucceeded, "", 4, 3),
		Entry("removed at the last try", func(_ *world, tries int) bool { return tries < 5 }, wire.PhaseSucceeded, "", 5, 3),
		Entry("never", func(*world, int) bool { return true }, wire.PhaseFailed,
			"removing what a killed upgrade left behind: target is busy; a reboot did not help: look at the mounts", 6, 2),
	)
})
