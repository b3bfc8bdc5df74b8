// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package native_test

import (
	"path/filepath"
	"strconv"
	"syscall"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/wire"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/osimage"
)

var (
	_ = Describe("On btrfs", Label(osimage.RealCLI), func() { onSubvolumes(subvolumes) })
	_ = Describe("On btrfs with snapper", Label(osimage.RealCLI), func() { onSubvolumes(snapper) })
)

func onSubvolumes(kind snapshotter) {
	var m *machine

	BeforeEach(func() { m = newMachineWith(kind) })

	upgrade := func(attempt, version string, more ...files) (digest string) {
		GinkgoHelper()
		uri, digest := push(m.registry, version, append(more, kernel)...)
		m.upgrade(attempt, wire.OSVersion{ImageURI: uri})
		return digest
	}
	// held upgrades to v2, and the recovery system with it, until the CLI is blocked at a moment.
	held := func(moment string) (digest string) {
		GinkgoHelper()
		m.hold(moment)
		uri, digest := push(m.registry, "v2", kernel)
		m.upgrade("a1", wire.OSVersion{ImageURI: uri, UpgradeRecovery: true})
		m.reached(moment)
		return digest
	}
	expectSucceeded := func(attempt, digest string, snapshot int, boot string) {
		GinkgoHelper()
		Expect(m.ends(attempt)).To(And(HaveField("Phase", wire.PhaseSucceeded), HaveField("Digest", digest)))
		Expect(m.last().OS).To(And(HaveField("Snapshot", BeEquivalentTo(snapshot)), HaveField("BootMode", "active"),
			HaveField("BootID", boot), HaveField("Digest", digest)))
	}

	It("an upgrade writes once, reboots once, and is judged by what is booted", func() {
		expectSucceeded("a1", upgrade("a1", "v2"), 2, "boot-2")
		m.expectWhole("2", "1")
		expectSucceeded("a2", upgrade("a2", "v3"), 3, "boot-3")
		m.expectWhole("3", "2", "1")
	})

	DescribeTable("an upgrade survives a kill",
		func(moment string, names ...string) {
			digest := held(moment)
			m.signal(syscall.SIGKILL, names...)
			m.release(moment)
			expectSucceeded("a1", digest, 2, "boot-2")
			m.expectWhole("2", "1")
		},
		Entry("of the CLI while it copies the tree into the snapshot", "rsync", "elemental"),
		Entry("of the agent then", "rsync", "elemental-agent"),
		Entry("of the CLI in a hook in the new tree", "after-upgrade-chroot", "elemental"),
		Entry("of the CLI while it unpacks the image", unpacking, "elemental"),
		Entry("of the CLI while it writes the recovery system", "mksquashfs", "elemental"),
		Entry("of the CLI when the new snapshot is the default, and is not recorded", "post-upgrade", "elemental"),
		Entry("of the CLI when it is recorded in one of two places", recorded, "elemental"),
	)

	DescribeTable("an upgrade survives a loss of power", func(moment string) {
		digest := held(moment)
		m.cutPower()
		expectSucceeded("a1", digest, 2, "boot-3")
		m.expectWhole("2", "1")
	},
		Entry("while the tree is copied into the snapshot", "rsync"),
		Entry("in a hook in the new tree", "after-upgrade-chroot"),
		Entry("while the image is unpacked", unpacking),
		Entry("while it writes the recovery system", "mksquashfs"),
		Entry("when the new snapshot is the default, and is not recorded", "post-upgrade"),
		Entry("when it is recorded in one of two places", recorded),
	)

	DescribeTable("a bad image leaves one good default and its fallbacks, from which the next attempt starts",
		func(bad files) {
			upgrade("a1", "v2", bad)
			Expect(m.ends("a1")).To(And(HaveField("Phase", wire.PhaseRolledBack), HaveField("Healthy", true)))
			Expect(m.last().OS).To(And(HaveField("Snapshot", BeEquivalentTo(1)), HaveField("Digest", firstDigest)))
			m.expectWhole("1")

			m.reboot()
			Expect(m.last().OS).To(And(HaveField("Snapshot", BeEquivalentTo(1)), HaveField("BootMode", "active")))
			boots := m.boots
			digest := upgrade("a2", "v3")
			expectSucceeded("a2", digest, 2, "boot-"+strconv.Itoa(boots+1))
			m.expectWhole("2", "1")
		},
		Entry("that the boot loader rolls back", files{"etc/unhealthy": ""}),
		Entry("that the agent rolls back", files{"etc/elemental/agent/assess/required.d/50-no": "#!/bin/sh\necho no >&2\nexit 1\n"}),
	)

	It("a snapshot that differs from what was written is not booted", func() {
		m.hold("rsync")
		upgrade("a1", "v2")
		m.reached("rsync")
		// The hooks have listed the tree; the tree that is copied now differs.
		osimage.Write(m.path(filepath.Join(stateDir, ".snapshots/2/snapshot.workDir/etc/os-release")), "PRETTY_NAME=\"other\"\n")
		m.release("rsync")
		Expect(m.ends("a1").Phase).To(Equal(wire.PhaseSucceeded))
		Expect(m.agentLog()).To(ContainSubstring("the first: /etc/os-release has other content"))
		m.expectWhole("2", "1")
	})
}
