// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package agent_test

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/agent/upgrade"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/wire"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/double/disk"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/double/rendezvous"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/image"
)

var _ = Describe("However an upgrade is disturbed, the host reaches an outcome and stays bootable,", func() {
	first, last, err := seeds()
	It("with seeds that can be parsed", func() { Expect(err).NotTo(HaveOccurred()) })
	for seed := first; err == nil && seed <= last; seed++ {
		It(fmt.Sprintf("with seed %d", seed), func() { newTrial(newSchedule(seed)).run() })
	}
})

// trial is a host that runs through a schedule.
type trial struct {
	*machine
	schedule schedule
	disturber
	wanted image.Image
}

func newTrial(s schedule) *trial {
	GinkgoHelper()
	t := &trial{schedule: s, disturber: disturber{schedule: s}}
	t.machine = newMachine(func(m *machine) {
		t.disturber.m = m
		m.met = func(_ *machine, moment rendezvous.Moment) { t.meet(moment) }
	})
	DeferCleanup(func() {
		t.end()
		if CurrentSpecReport().Failed() {
			AddReportEntry("schedule", s.String()+"\nwhat came up:\n  "+strings.Join(t.said, "\n  "))
		}
	})
	t.wanted = t.push("v2", s.os)
	return t
}

func (t *trial) run() {
	GinkgoHelper()
	t.begin()
	version, err := json.Marshal(wire.OSVersion{ImageURI: t.wanted.URI(), UpgradeRecovery: t.schedule.recovery})
	Expect(err).NotTo(HaveOccurred())
	t.desire(wire.Desired{Upgrade: &wire.Upgrade{Attempt: "a1", Apply: true, OSVersionManagement: map[string]json.RawMessage{"osVersion": version}}})
	end := t.ends("a1").Phase
	t.disturber.end()
	Expect(end).To(BeElementOf(t.schedule.ends()), "%s", t.attempt().Message)
	t.expectDecided(end)
	t.expectClean(end)
	t.expectStays(end)
}

// expectDecided asserts that the host runs the OS of the outcome, without leftovers, after no more boots than the
// outcome takes.
func (t *trial) expectDecided(end string) {
	GinkgoHelper()
	version := "v1"
	if end == wire.PhaseSucceeded {
		version = "v2"
	}
	Eventually(t.mode, patience).ShouldNot(BeEmpty(), "the host is up")
	Eventually(t.last, patience).Should(HaveField("OS.Version", version))
	Eventually(t.attempt, patience).Should(HaveField("Phase", end))
	Expect(len(t.Boots())).To(BeNumerically("<=", t.schedule.mostBoots(end)), "%+v", t.Boots())
	if end == wire.PhaseSucceeded {
		Expect(t.finished("elemental", "upgrade")).To(BeNumerically(">=", 1))
	}
}

// expectClean asserts one good default besides recovery, one fallback if there was an upgrade, and no leftovers.
func (t *trial) expectClean(end string) {
	GinkgoHelper()
	booted, err := t.Booted()
	Expect(err).NotTo(HaveOccurred())
	Expect(t.Disk().Active()).To(Equal(booted.Snapshot))
	Expect(t.grub("saved_entry")).To(BeEmpty())
	Expect(t.grub("next_entry")).To(BeEmpty())
	snapshots, passive := []int{1}, ""
	if end == wire.PhaseSucceeded {
		snapshots, passive = []int{1, booted.Snapshot}, "1"
	}
	Expect(t.Disk().Snapshots()).To(Equal(snapshots))
	Expect(t.passive()).To(Equal(passive))
	Eventually(t.Disk().Loops).Should(HaveLen(1))
	Expect(t.Disk().Mounts()).To(Equal(disk.BootMounts()))
}

// expectStays asserts that another boot, and the withdrawal of the upgrade request, change nothing except that the
// attempt is forgotten.
func (t *trial) expectStays(end string) {
	GinkgoHelper()
	before, err := t.Booted()
	Expect(err).NotTo(HaveOccurred())
	boots := len(t.Boots())
	Expect(t.PowerOff(GinkgoT().Context())).To(Succeed())
	Expect(t.PowerOn(GinkgoT().Context())).To(Succeed())
	Eventually(t.last, patience).Should(HaveField("OS.BootID", Equal(lastBoot(t.machine, boots+1))))
	Expect(t.attempt().Phase).To(Equal(end))
	t.desire(wire.Desired{})
	Eventually(t.last, patience).Should(HaveField("Upgrade", BeNil()))
	Expect(t.marker()).To(Equal(upgrade.Marker{}))
	Expect(filepath.Glob(t.Path("/var/lib/elemental/agent/images/*"))).To(BeEmpty(), "nothing is left of the download")
	Expect(t.last().OS).To(And(HaveField("Snapshot", BeEquivalentTo(before.Snapshot)), HaveField("BootMode", "active")))
	Consistently(t.Boots, 200*time.Millisecond).Should(HaveLen(boots + 1))
}
