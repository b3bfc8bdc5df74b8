// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package calls_test

import (
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/double/calls"
)

var _ = Describe("The log of calls", func() {
	It("has a call that never ended", func() {
		root := GinkgoT().TempDir()
		at := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
		first, err := calls.Begin(root, []string{"elemental", "--debug", "upgrade"}, []string{"ELEMENTAL_A=1", "B=2"}, at)
		Expect(err).NotTo(HaveOccurred())
		second, err := calls.Begin(root, []string{"systemctl", "reboot", "--force"}, nil, at.Add(time.Second))
		Expect(err).NotTo(HaveOccurred())
		Expect(calls.Finish(root, second, 1, at.Add(2*time.Second))).To(Succeed())

		all, err := calls.Read(root)
		Expect(err).NotTo(HaveOccurred())
		Expect(all).To(HaveLen(2))
		Expect(all[0].ID).To(Equal(first.ID))
		Expect(all[0].RC).To(Equal(calls.Unfinished))
		Expect(all[0].End).To(BeZero())
		Expect(all[0].Env).To(Equal(map[string]string{"ELEMENTAL_A": "1"}))
		Expect(all[1].RC).To(Equal(1))
		Expect(all[1].End.Sub(all[1].Start)).To(Equal(time.Second))
	})

	DescribeTable("Is", func(want bool, args ...string) {
		Expect(calls.Call{Argv: []string{"elemental", "--debug", "upgrade", "--recovery"}}.Is(args...)).To(Equal(want))
	},
		Entry(nil, true, "elemental"),
		Entry(nil, true, "elemental", "upgrade"),
		Entry(nil, true, "elemental", "--debug", "upgrade"),
		Entry(nil, false, "elemental", "state"),
		Entry(nil, false, "elemental", "upgrade", "state"),
	)

	It("is empty where nothing was called", func() {
		Expect(calls.Read(GinkgoT().TempDir())).To(BeEmpty())
	})
})
