// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package upgrade_test

import (
	"context"
	"slices"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/agent/osplugin"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/agent/upgrade"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/wire"
)

// untriggered is an attempt that the host prepares.
func untriggered() *wire.Upgrade {
	want := wanted("a1")
	want.Apply = false
	return want
}

// What "make mutate" found that no other spec looks at.
var _ = Describe("An attempt at its edges", func() {
	var (
		w   *world
		dir string
	)
	ctx := context.Background()
	closed := make(chan struct{})
	close(closed)
	BeforeEach(func() { w, dir = newWorld(), memoryDir() })

	It("says what is wrong with a preparation that nobody has withdrawn", func() {
		w.refused["space"] = 1
		Expect(w.agent(dir).Advance(ctx, untriggered(), nil)).To(MatchError(ContainSubstring("space")))
	})

	It("cannot be withdrawn once it is in flight", func() {
		w.live(dir, untriggered())
		Expect(w.agent(dir).Advance(ctx, wanted("a1"), nil)).To(MatchError(errRebooted))
		w.refused["facts"] = 1
		Expect(w.agent(dir).Advance(ctx, nil, &upgrade.Interrupts{Withdrawn: closed})).NotTo(Succeed())
		Expect(w.agent(dir).Advance(ctx, nil, &upgrade.Interrupts{Withdrawn: closed})).To(Succeed())
		Expect(w.last().Phase).To(Equal(wire.PhaseSucceeded))
	})

	It("remembers what the two OSes are called that can be booted after it, and no others", func() {
		for i, digest := range []string{"2", "3", "4"} {
			w.digest = digestOf(digest)
			w.live(dir, wanted([]string{"a1", "a2", "a3"}[i]))
			Expect(w.last().Phase).To(Equal(wire.PhaseSucceeded))
		}
		machine := w.agent(dir)
		Expect(machine.ImageURI(digestOf("2"))).To(BeEmpty())
		Expect(machine.ImageURI(digestOf("3"))).To(Equal("oci://r/os:2"))
		Expect(machine.ImageURI(digestOf("4"))).To(Equal("oci://r/os:2"))
	})

	It("gives up writing an image when that was cut off too often", func() {
		for range w.policy.MaxStarts {
			w.write = append(w.write, func() error { w.killed = true; return errKilled })
		}
		for range w.policy.MaxStarts {
			Expect(w.agent(dir).Advance(ctx, wanted("a1"), nil)).To(MatchError(errKilled))
			w.killed = false
		}
		w.live(dir, wanted("a1"))
		Expect(w.last()).To(And(HaveField("Phase", wire.PhaseFailed), HaveField("Message", "writing the image was interrupted 20 times")))
		Expect(w.did("upgrade")).To(Equal(w.policy.MaxStarts))
		Expect(w.snapshots).To(HaveLen(1))
	})

	It("relies on an image that was written by the last start", func() {
		for range w.policy.MaxStarts - 1 {
			w.write = append(w.write, func() error { w.killed = true; return errKilled })
		}
		for range w.policy.MaxStarts - 1 {
			Expect(w.agent(dir).Advance(ctx, wanted("a1"), nil)).To(MatchError(errKilled))
			w.killed = false
		}
		w.live(dir, wanted("a1"))
		Expect(w.last().Phase).To(Equal(wire.PhaseSucceeded))
	})

	It("fails when the space has gone since it was prepared, and boots what runs", func() {
		w.live(dir, untriggered())
		w.free = 300 << 20
		w.link = 2 // chosen by a try before this one
		w.live(dir, wanted("a1"))
		Expect(w.last()).To(And(HaveField("Phase", wire.PhaseFailed), HaveField("Message", ContainSubstring("300 MiB are free"))))
		Expect(w.did("upgrade")).To(BeZero())
		Expect(w.link).To(BeEquivalentTo(1))
	})

	It("removes no snapshot but those that it has found bad", func() {
		w.live(dir, wanted("a1"))
		Expect(w.did("discard")).To(BeZero())
		Expect(w.did("boot always 1")).To(BeZero())
		Expect(slices.Contains(w.calls, "boot always 2")).To(BeFalse())
	})

	It("is not over on a recovery system that was made from the same image", func() {
		w.snapshots[0], w.booted, w.mode = snap{digest: w.digest, whole: true}, 0, osplugin.ModeRecovery
		w.live(dir, wanted("a1"))
		Expect(w.last()).NotTo(HaveField("Message", ContainSubstring("already")))
		Expect(w.written).To(Equal(1))
	})
})
