// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package upgrade_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/agent/assess"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/agent/image"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/agent/osplugin"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/agent/upgrade"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/wire"
)

var _ = Describe("An attempt on a host that is in trouble", func() {
	var (
		w   *world
		dir string
	)
	BeforeEach(func() { w, dir = newWorld(), memoryDir() })

	It("waits for somebody else who changes the OS, says so, and counts no failure", func() {
		w.others = []string{"an upgrade is running"}
		w.live(dir, wanted("a1"))
		Expect(w.last()).To(And(HaveField("Phase", wire.PhaseSucceeded), HaveField("Message", "")))
		waiting := slices.IndexFunc(w.reported, func(said wire.Attempt) bool { return said.Message == "waiting: an upgrade is running" })
		Expect(waiting).To(BeNumerically(">=", 0))
		Expect(w.reported[waiting+1].Message).To(BeEmpty(), "it has waited")
		Expect(w.did("upgrade")).To(Equal(1))
	})

	It("is alone from before it removes what others left until the image is written, and when it chooses what is booted", func() {
		w.verdicts = []assess.Verdict{bad}
		w.live(dir, wanted("a1"))
		for _, act := range []string{"clean", "upgrade", "verify snapshot", "boot always 1", "discard"} {
			at := slices.Index(w.calls, act)
			Expect(at).To(BeNumerically(">=", 0), act)
			Expect(w.exclusiveAt[at]).To(BeTrue(), act)
		}
		Expect(w.exclusiveAt[slices.Index(w.calls, "assess")]).To(BeFalse(), "an assessment changes nothing")
	})

	It("does not touch an OS whose owner's program does not want it", func() {
		w.refusal = "10-backup failed: no space left"
		w.live(dir, wanted("a1"))
		Expect(w.last()).To(And(HaveField("Phase", wire.PhaseFailed),
			HaveField("Message", "/etc/elemental/agent/pre-upgrade.d/10-backup failed: no space left; the OS was not changed")))
		Expect(w.calls).NotTo(ContainElements("clean", "upgrade"))
		Expect(w.boots).To(Equal(1))
		w.refusal = ""
		w.live(dir, wanted("a2"))
		Expect(w.last()).To(HaveField("Phase", wire.PhaseSucceeded))
	})

	It("does not touch an OS that would not remember the upgrade after its reboot", func() {
		forgets := And(HaveField("Phase", wire.PhaseFailed), HaveField("Message",
			"the state of this upgrade would be lost in the reboot: /var is in memory; the OS was not changed"))
		w.volatile = "/var is in memory"
		w.live(dir, wanted("a1"))
		Expect(w.last()).To(forgets)
		Expect(w.downloaded).To(BeEmpty())
		Expect(w.boots).To(Equal(1))

		untriggered := wanted("a2")
		untriggered.Apply = false
		w.volatile = ""
		w.live(dir, untriggered)
		Expect(w.last()).To(HaveField("Phase", wire.PhaseFetched))
		w.volatile = "/var is in memory"
		w.live(dir, wanted("a2"))
		Expect(w.last()).To(forgets)
		Expect(w.calls).NotTo(ContainElements("clean", "upgrade"))
	})

	It("reports what it waits for at a registry from the third try on, and waits as long as that asks", func() {
		busy := &image.Unreachable{Message: "registry r answers HTTP 429 for image i", Wait: 5 * time.Minute}
		w.resolve = []error{busy, busy, busy}
		before := w.clock.Now()
		w.live(dir, wanted("a1"))
		Expect(w.clock.Now().Sub(before)).To(BeNumerically(">=", 15*time.Minute))
		Expect(w.last()).To(And(HaveField("Phase", wire.PhaseSucceeded), HaveField("Message", "")))
		Expect(w.reported).To(ContainElement(And(HaveField("Phase", wire.PhaseFetching), HaveField("Message", busy.Message))))
		w.reported, w.resolve = nil, []error{busy, busy}
		w.live(dir, wanted("a2"))
		Expect(w.reported).NotTo(ContainElement(HaveField("Message", busy.Message)))
	})

	It("fails, once and in words that stay the same, where what it keeps cannot be written", func() {
		unwritable := &fs.PathError{Op: "unlinkat", Path: dir + "/images", Err: syscall.EROFS}
		failed := And(HaveField("Phase", wire.PhaseFailed), HaveField("Message", HavePrefix("the agent cannot write its work directory: ")),
			HaveField("Message", HaveSuffix("read-only file system: repair the persistent partition of the host; the OS was not changed")))
		w.unwritable = unwritable
		machine := w.agent(dir)
		Expect(machine.Advance(context.Background(), wanted("a1"), nil)).To(Succeed())
		Expect(w.last()).To(failed)
		reports := len(w.reported)
		Expect(machine.Advance(context.Background(), wanted("a1"), nil)).To(Succeed())
		Expect(w.reported).To(HaveLen(reports), "an attempt that has ended is not tried again")
		w.live(dir, wanted("a1")) // an agent that was restarted
		Expect(w.last()).To(failed)
		Expect(w.calls).NotTo(ContainElements("clean", "upgrade"))
		w.unwritable = nil
		w.live(dir, wanted("a2"))
		Expect(w.last()).To(HaveField("Phase", wire.PhaseSucceeded))
	})

	It("ends an attempt that is in flight although the agent's directory has become volatile", func() {
		w.bootsInto = func() int32 { w.volatile = "/var is in memory"; return 2 }
		w.live(dir, wanted("a1"))
		Expect(w.last()).To(HaveField("Phase", wire.PhaseSucceeded))
	})

	It("asks the owner's programs after the trigger, and not again once the image is being written", func() {
		untriggered := wanted("a1")
		untriggered.Apply = false
		w.live(dir, untriggered)
		Expect(w.did("before upgrade")).To(BeZero())
		w.write = []func() error{func() error { return errors.New("no space left on device") }}
		w.live(dir, wanted("a1"))
		Expect(w.did("before upgrade")).To(Equal(1))
		Expect(slices.Index(w.calls, "before")).To(BeNumerically("<", slices.Index(w.calls, "before upgrade")), "what they stop was not so before")
	})

	It("lets some time pass between two failures", func() {
		broken := func() error { return errors.New("no space left on device") }
		w.write = []func() error{broken, broken, broken}
		before := w.clock.Now()
		w.live(dir, wanted("a1"))
		Expect(w.last().Phase).To(Equal(wire.PhaseFailed))
		Expect(w.clock.Now().Sub(before)).To(And(BeNumerically(">=", 3*time.Second), BeNumerically("<=", 6*time.Second)), "two pauses, the second twice as long")
	})

	DescribeTable("ends although a bad snapshot cannot be removed", func(change func(), phase string, booted int) {
		w.keeps = true
		change()
		w.live(dir, wanted("a1"))
		Expect(w.last().Phase).To(Equal(phase))
		Expect(w.booted).To(BeEquivalentTo(booted))
		Expect(w.link).To(BeEquivalentTo(booted))
	},
		Entry("after a boot that was bad", func() { w.verdicts = []assess.Verdict{bad} }, wire.PhaseRolledBack, 1),
		Entry("after it was not written as it should be", func() { w.corrupts = 9 }, wire.PhaseFailed, 1),
	)

	It("writes again what is known not to have reached the disk", func() {
		lost := func() error { return fmt.Errorf("%w: not all of it has reached the disk", osplugin.ErrCorrupt) }
		w.write = []func() error{func() error {
			w.snapshots[2] = snap{digest: w.digest, attempt: "a1", whole: true}
			w.link = 2
			return lost()
		}}
		w.live(dir, wanted("a1"))
		Expect(w.last().Phase).To(Equal(wire.PhaseSucceeded))
		Expect(w.did("discard")).To(Equal(1))
		Expect(w.did("upgrade")).To(Equal(2))
		Expect(w.did("verify snapshot")).To(Equal(1), "it is not compared: what the kernel remembers of it may be all that there is")
		Expect(w.boots).To(Equal(2))
	})

	DescribeTable("boots nothing of which it cannot tell whether it is whole", func(uncertain int, phase string, verified, written int) {
		w.uncertain = uncertain
		w.live(dir, wanted("a1"))
		Expect(w.last().Phase).To(Equal(phase))
		Expect(w.did("verify snapshot")).To(Equal(verified))
		Expect(w.written).To(Equal(written), "what may be good is not written again")
		Expect(w.link).To(Equal(w.booted))
		if phase == wire.PhaseFailed {
			Expect(w.snapshots).To(HaveLen(1), "it would be the first fallback")
		}
	},
		Entry("until it can", 2, wire.PhaseSucceeded, 3, 1),
		Entry("and gives up", 9, wire.PhaseFailed, 3, 1),
	)

	DescribeTable("compares a snapshot with what was downloaded as far as that is known", func(refused int, list string) {
		w.refused["list files"] = refused
		w.live(dir, wanted("a1"))
		Expect(w.last().Phase).To(Equal(wire.PhaseSucceeded))
		Expect(w.compared).To(Equal([]string{list}))
	},
		Entry("with the list of its files", 0, digestOf("2")+"/files.json"),
		Entry("with none where that cannot be had", 1, ""),
	)

	It("falls back to nothing of which it cannot tell whether it is whole, not even when that cannot be removed", func() {
		w.uncertain, w.keeps = 9, true
		w.live(dir, wanted("a1"))
		Expect(w.last().Phase).To(Equal(wire.PhaseFailed))
		Expect(w.noFallback).To(BeEquivalentTo(2))
	})

	It("leaves a snapshot that was booted before it was verified only when that cannot be told again and again", func() {
		for uncertain, boots := range map[int]int{2: 2, 9: 3} {
			w, dir = newWorld(), memoryDir()
			w.uncertain = uncertain
			w.write = []func() error{func() error {
				w.snapshots[2], w.link = snap{digest: w.digest, attempt: "a1", whole: true}, 2
				w.reboot()
				w.killed = true
				return errKilled
			}}
			w.live(dir, wanted("a1"))
			Expect(w.boots).To(Equal(boots), "uncertain %d times", uncertain)
			Expect(w.last().Phase).To(Equal(map[int]string{2: wire.PhaseSucceeded, 9: wire.PhaseFailed}[uncertain]))
		}
	})

	It("has forgotten nothing of what was bad when its agent is killed while it waits", func() {
		w.verdicts = []assess.Verdict{bad}
		w.bootsInto = func() int32 {
			if w.boots == 3 {
				w.others, w.refused["exclusive"] = []string{"an upgrade is running"}, 1
			}
			return w.link
		}
		w.live(dir, wanted("a1"))
		Expect(w.others).To(BeEmpty(), "it has waited")
		Expect(w.last()).To(And(HaveField("Phase", wire.PhaseRolledBack), HaveField("Message", HaveSuffix("its assessment failed: the kubelet is broken"))))
	})

	It("goes down for nothing when there is nothing to go back to", func() {
		w.live(dir, wanted("a1"))
		Expect(w.booted).To(BeEquivalentTo(2))
		boots := w.boots
		// The work directory is gone, and with it the list of what was written.
		broken := w.snapshots[2]
		broken.corrupt = true
		w.snapshots[2], w.checks = broken, []assess.Verdict{bad}
		w.live(memoryDir(), wanted("a1"))
		Expect(w.boots).To(Equal(boots))
		Expect(w.last()).To(And(HaveField("Phase", wire.PhaseFailed), HaveField("Message", ContainSubstring("no good snapshot is known"))))
	})

	It("knows the units that had failed from the marker of an older agent, and no jobs", func() {
		old := `{"attempt":"a1","phase":"Rebooting","knownFailed":["old.service"],"fromBootID":"boot-0","fromSnapshot":1,"wantedSnapshot":2}`
		Expect(os.WriteFile(filepath.Join(dir, upgrade.MarkerFile), []byte(old), 0o600)).To(Succeed())
		Expect(w.agent(dir).Marker().UnitsBefore).To(Equal(assess.UnitStates{Failed: []string{"old.service"}}))
	})

	It("goes on from the marker of a newer agent, as the one of the former OS has to after a roll-back", func() {
		newer := `{"attempt":"a1","phase":"Reverting","digest":"` + digestOf("2") + `","fromSnapshot":1,"wantedSnapshot":2,"message":"bad","new":{"x":1},
			"checks":[{"name":"kubelet","verdict":"Doubted","since":"2026-01-02T03:04:05Z","new":[]}]}`
		Expect(os.WriteFile(filepath.Join(dir, upgrade.MarkerFile), []byte(newer), 0o600)).To(Succeed())
		w.live(dir, wanted("a1"))
		Expect(w.last()).To(And(HaveField("Phase", wire.PhaseRolledBack), HaveField("Message", "bad"),
			HaveField("Checks", ContainElement(HaveField("Verdict", "Doubted")))))
	})
})
