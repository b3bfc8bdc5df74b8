// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package upgrade_test

import (
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/agent/assess"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/wire"
)

var _ = Describe("What an assessment finds", func() {
	var w *world
	BeforeEach(func() { w = newWorld() })

	It("is not that the former OS is not healthy when all there is are warnings", func() {
		w.verdicts = []assess.Verdict{bad}
		w.checks = []assess.Verdict{{State: assess.Good, Warnings: []string{"wanted check x failed: y"}}}
		w.live(memoryDir(), wanted("a1"))
		Expect(w.last()).To(And(HaveField("Phase", wire.PhaseRolledBack), HaveField("Healthy", true),
			HaveField("Message", HaveSuffix("its assessment failed: the kubelet is broken"))))
	})

	It("replaces what was found by the same check, the first one too", func() {
		dir := memoryDir()
		w.isAssessed(dir, `,"checks":[{"name":"stable","verdict":"Waiting","since":"2026-01-02T03:04:05Z"}]`)
		w.live(dir, wanted("a1"))
		Expect(w.last().Phase).To(Equal(wire.PhaseSucceeded))
		Expect(w.last().Checks).To(ConsistOf(And(HaveField("Name", "stable"), HaveField("Verdict", wire.CheckPassed))))
	})

	It("keeps its time as long as a program ends with the same exit code", func() {
		first := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
		for minute := range 2 {
			w.verdicts = append(w.verdicts, assess.Verdict{State: assess.Undecided, Checks: []wire.Check{{
				Name: "x", Verdict: wire.CheckWaiting, ExitCode: new(int32), Since: first.Add(time.Duration(minute) * time.Minute),
			}}})
		}
		w.live(memoryDir(), wanted("a1"))
		Expect(w.last().Checks).To(ContainElement(And(HaveField("Name", "x"), HaveField("Since", BeTemporally("==", first)))))
	})
})
