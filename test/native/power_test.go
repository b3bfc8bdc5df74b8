// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package native_test

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/wire"
)

var _ = Describe("An upgrade that loses power", func() {
	var m *machine

	BeforeEach(func() { m = newMachine() })

	// lost upgrades to v2 and cuts the power when the CLI is blocked at a moment.
	lost := func(moment string, recovery, flushed bool) (digest string) {
		GinkgoHelper()
		uri, digest := push(m.registry, "v2", kernel)
		m.hold(moment)
		m.upgrade("a1", wire.OSVersion{ImageURI: uri, UpgradeRecovery: recovery})
		m.reached(moment)
		if flushed {
			m.within("sync")
		}
		m.cutPower()
		return digest
	}

	DescribeTable("boots the former OS, writes the image again and boots it",
		func(moment string, recovery, flushed bool, boot string) {
			digest := lost(moment, recovery, flushed)
			Expect(m.ends("a1")).To(And(HaveField("Phase", wire.PhaseSucceeded), HaveField("Digest", digest)))
			Expect(m.last().OS).To(And(HaveField("Snapshot", BeEquivalentTo(2)), HaveField("BootMode", "active"),
				HaveField("Digest", digest), HaveField("BootID", boot)))
			m.expectWhole("2", "1")
		},
		Entry("in a hook before it writes", "before-upgrade", false, false, "boot-3"),
		Entry("while the image is unpacked", unpacking, false, true, "boot-3"),
		Entry("after it was recorded in one of two places", recorded, false, true, "boot-3"),
		Entry("when the tree is unpacked and there is no image yet", "after-upgrade", false, true, "boot-3"),
		Entry("while the tree is copied into the image", "rsync", false, false, "boot-3"),
		Entry("in a hook in the new tree", "after-upgrade-chroot", false, true, "boot-3"),
		Entry("while it writes the recovery system", "mksquashfs", true, true, "boot-3"),
		Entry("after the new snapshot has become the default, and before it is recorded", "post-upgrade", false, true, "boot-3"),
	)
})
