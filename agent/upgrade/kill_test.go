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
	"github.com/rancher-sandbox/cluster-api-provider-elemental/agent/system"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/agent/upgrade"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/wire"
)

// ends are the ways in which an attempt can end, with how often the host reboots on the way.
var ends = []struct {
	name   string
	change func(*world)
	phase  string
	boots  int
	booted int32
}{
	{"succeeds", func(*world) {}, wire.PhaseSucceeded, 2, 2},
	{"falls back", func(w *world) { w.bootsInto = func() int32 { return 1 } }, wire.PhaseRolledBack, 2, 1},
	{"falls back too far", fallBackTooFar, wire.PhaseRolledBack, 3, 3},
	{"turns back", func(w *world) { w.verdicts = []assess.Verdict{bad, good, good, good} }, wire.PhaseRolledBack, 3, 1},
}

// fallBackTooFar: the boot loader falls back to a snapshot that did not run before.
func fallBackTooFar(w *world) {
	w.snapshots[2] = snap{digest: digestOf("7"), whole: true}
	w.snapshots[3], w.booted, w.link = snap{digest: digestOf("1"), whole: true}, 3, 3
	w.bootsInto = func() int32 { w.bootsInto = nil; return 2 }
}

var _ = Describe("Killed at any moment", func() {
	for _, end := range ends {
		for _, after := range []bool{false, true} {
			It(fmt.Sprintf("an attempt that %s is carried out exactly once (kill after the act: %t)", end.name, after), func() {
				calm := newWorld()
				end.change(calm)
				calm.live(memoryDir(), wanted("a1"))
				Expect(len(calm.calls)).To(BeNumerically(">", 20))
				for at := 1; at <= len(calm.calls); at++ {
					w := newWorld()
					end.change(w)
					// A verdict that was given to a killed agent is given again.
					w.verdicts = append(w.verdicts[:len(w.verdicts):len(w.verdicts)], good)
					w.killAt, w.killAfter = at, after
					w.live(memoryDir(), wanted("a1"))
					if end.name == "turns back" && after && calm.calls[at-1] == "assess" {
						continue // the fake's verdict was lost with the agent: the next one is another
					}
					context := fmt.Sprintf("killed at call %d (%s)", at, calm.calls[at-1])
					Expect(w.last().Phase).To(Equal(end.phase), context)
					Expect(w.written).To(Equal(1), context)
					Expect(w.boots).To(Equal(end.boots), context)
					Expect(w.booted).To(Equal(end.booted), context)
					for id, each := range w.snapshots {
						Expect(each.whole).To(BeTrue(), "%s: half a snapshot %d is left", context, id)
					}
				}
			})
		}
	}
})

var _ = DescribeTable("An agent that finds a marker",
	func(phase string, sameBoot bool, booted int32, mode string, first string, end string) {
		w, dir := newWorld(), memoryDir()
		w.snapshots[2] = snap{digest: digestOf("2"), attempt: "a1", whole: true}
		w.link, w.booted, w.mode = 2, booted, mode
		w.downloaded[digestOf("2")] = true
		marker := upgrade.Marker{
			Attempt: "a1", Phase: phase, ImageURI: "oci://r/os:2", Digest: digestOf("2"), ImageBytes: w.bytes,
			FromBootID: "boot-0", FromSnapshot: 1, WantedSnapshot: 2, RevertBootID: "boot-0", Message: "was bad",
		}
		if phase == wire.PhaseAcknowledged || phase == wire.PhaseFetching || phase == wire.PhaseFetched {
			marker = upgrade.Marker{Attempt: "a1", Phase: phase, ImageURI: "oci://r/os:2", Digest: digestOf("2"), ImageBytes: w.bytes}
			delete(w.snapshots, 2)
			w.link = 1
		}
		if sameBoot {
			marker.FromBootID, marker.RevertBootID = w.bootID(), w.bootID()
		}
		Expect(system.WriteJSON(dir+"/"+upgrade.MarkerFile, marker)).To(Succeed())

		err := w.agent(dir).Advance(context.Background(), wanted("a1"), nil)
		if err != nil {
			Expect(errors.Is(err, errRebooted)).To(BeTrue(), "%v", err)
		}
		Expect(w.calls).To(ContainElement(first))
		w.live(dir, wanted("a1"))
		Expect(w.last().Phase).To(Equal(end))
	},
	// phase, same boot, what is booted and how, what is done in this boot, how it ends
	Entry("Acknowledged", wire.PhaseAcknowledged, true, int32(1), osplugin.ModeActive, "resolve", wire.PhaseSucceeded),
	Entry("Fetching", wire.PhaseFetching, true, int32(1), osplugin.ModeActive, "resolve", wire.PhaseSucceeded),
	Entry("Fetching, rebooted", wire.PhaseFetching, false, int32(1), osplugin.ModeActive, "resolve", wire.PhaseSucceeded),
	Entry("Fetched", wire.PhaseFetched, true, int32(1), osplugin.ModeActive, "upgrade", wire.PhaseSucceeded),
	Entry("Applying, written", wire.PhaseApplying, true, int32(1), osplugin.ModeActive, "reboot", wire.PhaseSucceeded),
	Entry("Applying, written, and booted by somebody", wire.PhaseApplying, false, int32(2), osplugin.ModeActive, "assess", wire.PhaseSucceeded),
	Entry("Applying, written, and the old one booted", wire.PhaseApplying, false, int32(1), osplugin.ModePassive, "reboot", wire.PhaseSucceeded),
	Entry("Rebooting, not yet rebooted", wire.PhaseRebooting, true, int32(1), osplugin.ModeActive, "reboot", wire.PhaseSucceeded),
	Entry("Rebooting, rebooted", wire.PhaseRebooting, false, int32(2), osplugin.ModeActive, "assess", wire.PhaseSucceeded),
	Entry("Rebooting, fallen back", wire.PhaseRebooting, false, int32(1), osplugin.ModePassive, "boot always 1", wire.PhaseRolledBack),
	Entry("Assessing", wire.PhaseAssessing, false, int32(2), osplugin.ModeActive, "assess", wire.PhaseSucceeded),
	Entry("Assessing, fallen back meanwhile", wire.PhaseAssessing, false, int32(1), osplugin.ModePassive, "boot always 1", wire.PhaseRolledBack),
	Entry("Reverting, not yet rebooted", upgrade.PhaseReverting, true, int32(2), osplugin.ModeActive, "reboot", wire.PhaseRolledBack),
	Entry("Reverting, rebooted", upgrade.PhaseReverting, false, int32(1), osplugin.ModePassive, "assess", wire.PhaseRolledBack),
	Entry("Reverting, the bad one again", upgrade.PhaseReverting, false, int32(2), osplugin.ModeActive, "boot always 1", wire.PhaseRolledBack),
	Entry("Succeeded", wire.PhaseSucceeded, false, int32(2), osplugin.ModeActive, "report", wire.PhaseSucceeded),
	Entry("Failed", wire.PhaseFailed, true, int32(1), osplugin.ModeActive, "report", wire.PhaseFailed),
	Entry("RolledBack", wire.PhaseRolledBack, false, int32(1), osplugin.ModePassive, "report", wire.PhaseRolledBack),
)
