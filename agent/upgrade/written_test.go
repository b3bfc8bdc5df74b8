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
		Entry("and gives up", 9, wire.PhaseFailed, "writing the image failed (3 of 3): the snapshot is corrupt: 3 of 9 files differ from what was written", 3, 1),
	)

	// cutOff cuts the power when the CLI is run, with snapshot 2 as the default.
	cutOff := func(w *world, left snap) {
		w.write = append(w.write, func() error {
			w.snapshots[2], w.link = left, 2
			w.reboot()
			w.killed = true
			return errKilled
		})
	}

	DescribeTable("and whose snapshot is booted before it has been verified",
		func(left snap, cuts int, phase, message string, verified, boots, booted int) {
			w, dir := newWorld(), memoryDir()
			left.digest, left.attempt, left.whole = w.digest, "a1", true
			for range cuts {
				cutOff(w, left)
			}
			w.live(dir, wanted("a1"))
			Expect(w.last()).To(And(HaveField("Phase", phase), HaveField("Message", message)))
			Expect(w.did("verify snapshot")).To(Equal(verified))
			Expect(w.boots).To(Equal(boots))
			Expect(w.booted).To(BeEquivalentTo(booted))
			Expect(w.snapshots).To(HaveKeyWithValue(BeEquivalentTo(1), snap{digest: digestOf("1"), whole: true}), "the former OS is still there")
		},
		Entry("verifies it then", snap{}, 1, wire.PhaseSucceeded, "", 1, 2, 2),
		Entry("goes back and writes it again when its files are not there", snap{corrupt: true}, 1, wire.PhaseSucceeded, "", 2, 4, 2),
		Entry("goes back and writes it again when it is unfinished", snap{unrecorded: true}, 1, wire.PhaseSucceeded, "", 1, 4, 2),
		Entry("gives up, on the former OS, when that is so again and again", snap{unrecorded: true}, 3, wire.PhaseFailed,
			"writing the image failed (3 of 3): snapshot 2: it was booted before it was completely written; was the power lost?", 0, 7, 1),
	)

	It("says so when it does not get back from a snapshot that is unfinished", func() {
		w := newWorld()
		cutOff(w, snap{digest: w.digest, attempt: "a1", whole: true, unrecorded: true})
		w.bootsInto = func() int32 { return 2 }
		w.live(memoryDir(), wanted("a1"))
		Expect(w.last()).To(And(HaveField("Phase", wire.PhaseFailed), HaveField("Message", "snapshot 2: it was booted before it was completely "+
			"written; was the power lost?; expected to boot snapshot 1 again, but 2 was booted")))
		Expect(w.written).To(BeZero())
		Expect(w.boots).To(Equal(7))
	})

	It("stays on a snapshot that is unfinished when the former one is gone", func() {
		w := newWorld()
		cutOff(w, snap{digest: w.digest, attempt: "a1", whole: true, unrecorded: true})
		w.bootsInto = func() int32 { delete(w.snapshots, 1); return 2 }
		w.live(memoryDir(), wanted("a1"))
		Expect(w.last()).To(And(HaveField("Phase", wire.PhaseFailed), HaveField("Message", HaveSuffix("; the former snapshot 1 no longer exists"))))
		Expect(w.written).To(BeZero())
	})

	It("goes on from another snapshot that somebody has finished and booted meanwhile", func() {
		w := newWorld()
		cutOff(w, snap{digest: digestOf("7"), whole: true})
		w.live(memoryDir(), wanted("a1"))
		Expect(w.last()).To(And(HaveField("Phase", wire.PhaseSucceeded), HaveField("Digest", w.digest)))
		Expect(w.booted).To(BeEquivalentTo(3))
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
			"removing the remains of a killed upgrade: target is busy; a reboot did not help: check the mounts", 6, 2),
	)
})
