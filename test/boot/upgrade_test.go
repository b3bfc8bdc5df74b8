// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package boot

import (
	"context"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
)

// failingCheck is an image with a check of the toolkit's boot assessment that fails.
var failingCheck = files{"usr/libexec/elemental-checker/never": "#!/bin/sh\nexit 1\n"}

// misbehaving is an image that the guest's init makes bad.
func misbehaving(way string) files { return files{"etc/misbehave": way} }

// fallback matches the message about a host on which GRUB has booted the former snapshot.
var fallback = ContainSubstring("booted snapshot 1 in passive mode")

var _ = Describe("A host that boots through GRUB", func() {
	It("registers, and is upgraded by one reboot into the other snapshot", func(ctx SpecContext) {
		h := newHost(ctx)
		Expect(h.boots.Load()).To(BeEquivalentTo(1))
		h.upgradesTo(ctx, "v2")
		Expect(h.boots.Load()).To(BeEquivalentTo(2))
	})

	DescribeTable("falls back from an image, and is upgraded to a good one then",
		func(ctx SpecContext, bad files, said string, reported OmegaMatcher) {
			h := newHost(ctx)
			image := h.push(ctx, "v2-bad", bad)
			h.upgrade(ctx, image)
			status := h.awaitEnd(ctx, image)
			Expect(status.Upgrade.Phase).To(Equal(infrav1.HostUpgradeRolledBack), status.Upgrade.Message)
			Expect(status.Upgrade.Message).To(reported)
			Expect(status.Upgrade.Healthy).To(BeTrue())
			Expect(status.OS.Version).To(Equal("v1"))
			Expect(h.console()).To(ContainSubstring(said), "what makes it bad has happened")
			h.upgradesTo(ctx, "v3")
		},
		Entry("whose init ends: the kernel panics", misbehaving("panic"), "Kernel panic", fallback),
		Entry("without a kernel", files{"boot/.wh.vmlinuz": ""}, "not found", fallback),
		Entry("that hangs: the watchdog resets it", misbehaving("hang"), "GUEST: hangs", fallback),
		Entry("that fails the toolkit's assessment", failingCheck, "assessment failed", Or(fallback, ContainSubstring("the toolkit's boot assessment failed"))),
		Entry("with a unit that fails, is started again, and fails", misbehaving("flap"), "GUEST: booted", ContainSubstring("flapping.service")),
	)
})

// upgradesTo expects that a good image is booted by its active entry.
func (h *host) upgradesTo(ctx context.Context, version string) {
	GinkgoHelper()
	good := h.push(ctx, version, nil)
	h.upgrade(ctx, good)
	status := h.awaitEnd(ctx, good)
	Expect(status.Upgrade.Phase).To(Equal(infrav1.HostUpgradeSucceeded), status.Upgrade.Message)
	Expect(status).To(runs(version, "active"))
}
