// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package upgrade_test

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/wire"
)

// appliedIn is an attempt with a trigger for a boot.
func appliedIn(attempt string, boot *wire.Boot) *wire.Upgrade {
	want := wanted(attempt)
	want.ApplyIn = boot
	return want
}

var _ = Describe("A trigger", func() {
	var (
		w   *world
		dir string
	)
	BeforeEach(func() { w, dir = newWorld(), memoryDir() })

	expectRefused := func(message string) {
		GinkgoHelper()
		Expect(w.last()).To(And(HaveField("Phase", wire.PhaseFetched), HaveField("Message", ContainSubstring(message))))
		Expect(w.written).To(BeZero())
		Expect(w.boots).To(Equal(1))
	}

	It("for this boot is followed", func() {
		w.live(dir, appliedIn("a1", &wire.Boot{BootID: "boot-1", Digest: digestOf("1")}))
		Expect(w.last().Phase).To(Equal(wire.PhaseSucceeded))
		Expect(w.written).To(Equal(1))
	})

	It("of a manager that names no boot is followed", func() {
		w.live(dir, appliedIn("a1", nil))
		Expect(w.last().Phase).To(Equal(wire.PhaseSucceeded))
	})

	It("for an OS that has no digest is followed by its boot", func() {
		w.snapshots[1] = snap{whole: true}
		w.live(dir, appliedIn("a1", &wire.Boot{BootID: "boot-1"}))
		Expect(w.last().Phase).To(Equal(wire.PhaseSucceeded))
	})

	DescribeTable("for another boot is refused, and the attempt goes on with one for this boot",
		func(boot wire.Boot, message string) {
			w.live(dir, appliedIn("a1", &boot))
			expectRefused(message)
			w.live(dir, appliedIn("a1", &boot)) // by an agent that is restarted
			expectRefused(message)

			untriggered := appliedIn("a1", nil)
			untriggered.Apply = false
			w.live(dir, untriggered)
			Expect(w.last()).To(And(HaveField("Phase", wire.PhaseFetched), HaveField("Message", BeEmpty())))

			w.live(dir, appliedIn("a1", &wire.Boot{BootID: "boot-1", Digest: digestOf("1")}))
			Expect(w.last().Phase).To(Equal(wire.PhaseSucceeded))
		},
		Entry("an earlier one", wire.Boot{BootID: "boot-0", Digest: digestOf("1")}, "not applied: the trigger is for boot boot-0 of image"),
		Entry("one of another image", wire.Boot{BootID: "boot-0", Digest: digestOf("0")}, "and this is boot boot-1 of image"),
		Entry("this one, before its image was known", wire.Boot{BootID: "boot-1"}, `not applied: the trigger is for a host that booted image "", and this one booted image`),
	)

	It("of an attempt that a later one has followed, from a backup of the management cluster, is refused", func() {
		first := &wire.Boot{BootID: "boot-1", Digest: digestOf("1")}
		w.live(dir, appliedIn("a1", first))
		w.digest = digestOf("3")
		w.live(dir, appliedIn("a2", &wire.Boot{BootID: "boot-2", Digest: digestOf("2")}))
		Expect(w.last()).To(And(HaveField("Attempt", "a2"), HaveField("Phase", wire.PhaseSucceeded)))
		Expect(w.written).To(Equal(2))
		Expect(w.boots).To(Equal(3))

		w.digest = digestOf("2")
		w.live(dir, appliedIn("a1", first))
		Expect(w.last()).To(And(HaveField("Attempt", "a1"), HaveField("Phase", wire.PhaseFetched), HaveField("Message", ContainSubstring("not applied"))))
		Expect(w.written).To(Equal(2))
		Expect(w.boots).To(Equal(3))

		By("carrying it out once its trigger is for this boot, as what the backup wants")
		w.live(dir, appliedIn("a1", &wire.Boot{BootID: "boot-3", Digest: digestOf("3")}))
		Expect(w.last()).To(And(HaveField("Attempt", "a1"), HaveField("Phase", wire.PhaseSucceeded)))
		Expect(w.written).To(Equal(3))
	})

	It("that the host has followed is not looked at again", func() {
		want := appliedIn("a1", &wire.Boot{BootID: "boot-1", Digest: digestOf("1")})
		w.live(dir, want)
		w.live(dir, want)
		Expect(w.last().Phase).To(Equal(wire.PhaseSucceeded))
		Expect(w.written).To(Equal(1))
	})
})
