// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package sequence_test

import (
	"context"
	"errors"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/sequence"
)

// world counts how often each step ran.
type world struct{ ran []string }

func step(name string, result sequence.Result, err error) sequence.Step[*world] {
	return sequence.Step[*world]{Name: name, Run: func(_ context.Context, w *world) (sequence.Result, error) {
		w.ran = append(w.ran, name)
		return result, err
	}}
}

var _ = Describe("Run", func() {
	var (
		ctx context.Context
		w   *world
	)

	BeforeEach(func() {
		ctx, w = context.Background(), &world{}
	})

	It("stops at the first step that waits", func() {
		report, err := sequence.Run(ctx, []sequence.Step[*world]{
			step("Cordon", sequence.Done(), nil),
			step("Drain", sequence.Wait(time.Second, "%d Pods left", 2), nil),
			step("Reboot", sequence.Done(), nil),
		}, 0, w)

		Expect(err).NotTo(HaveOccurred())
		Expect(w.ran).To(Equal([]string{"Cordon", "Drain"}))
		Expect(report.Passed).To(Equal([]string{"Cordon"}))
		Expect(report.Position()).To(Equal("Drain (2/3)"))
		Expect(report.Result.Message).To(Equal("2 Pods left"))
		Expect(report.Result.After).To(Equal(time.Second))
		Expect(report.Result.IsEnd()).To(BeFalse())
		Expect(report.Completed()).To(BeFalse())
	})

	It("stops at an end and names the outcome", func() {
		report, err := sequence.Run(ctx, []sequence.Step[*world]{
			step("Reboot", sequence.End("RolledBack", "booted snapshot 2"), nil),
			step("Assess", sequence.Done(), nil),
		}, 0, w)

		Expect(err).NotTo(HaveOccurred())
		Expect(w.ran).To(Equal([]string{"Reboot"}))
		Expect(report.Result.IsEnd()).To(BeTrue())
		Expect(report.Result.Outcome).To(Equal("RolledBack"))
	})

	It("keeps the numbers of the whole list when it starts in the middle", func() {
		report, err := sequence.Run(ctx, []sequence.Step[*world]{
			step("Drain", sequence.Done(), nil),
			step("Reboot", sequence.Wait(0, "rebooting"), nil),
		}, 1, w)

		Expect(err).NotTo(HaveOccurred())
		Expect(w.ran).To(Equal([]string{"Reboot"}))
		Expect(report.Position()).To(Equal("Reboot (2/2)"))
	})

	It("reports the step that failed together with its error", func() {
		failure := errors.New("connection refused")
		report, err := sequence.Run(ctx, []sequence.Step[*world]{
			step("Cordon", sequence.Wait(time.Second, "not known"), failure),
		}, 0, w)

		Expect(report.Result).To(BeZero())
		Expect(err).To(MatchError(failure))
		Expect(err).To(MatchError("running step Cordon: connection refused"))
		Expect(report.Step).To(Equal("Cordon"))
		Expect(report.Passed).To(BeEmpty())
	})

	It("is completed when every step is done", func() {
		report, err := sequence.Run(ctx, []sequence.Step[*world]{step("Cordon", sequence.Done(), nil)}, 0, w)

		Expect(err).NotTo(HaveOccurred())
		Expect(report.Completed()).To(BeTrue())
		Expect(report.Position()).To(BeEmpty())
	})
})
