// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package native_test

import (
	"syscall"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/wire"
)

var _ = Describe("An upgrade", func() {
	var m *machine

	BeforeEach(func() { m = newMachine() })

	expectSucceeded := func(digest string) {
		GinkgoHelper()
		Expect(m.ends("a1")).To(And(HaveField("Phase", wire.PhaseSucceeded), HaveField("Digest", digest)))
		Expect(m.last().OS).To(And(HaveField("Snapshot", BeEquivalentTo(2)), HaveField("BootMode", "active"),
			HaveField("Version", "v2"), HaveField("Digest", digest), HaveField("BootID", "boot-2")))
		m.expectWhole("2", "1")
	}

	It("writes a snapshot, boots it and finds it good", func() {
		uri, digest := push(m.registry, "v2", kernel)
		m.upgrade("a1", wire.OSVersion{ImageURI: uri})
		expectSucceeded(digest)
	})

	DescribeTable("survives a kill while the tree is copied into the image",
		func(signal syscall.Signal, names ...string) {
			uri, digest := push(m.registry, "v2", kernel)
			m.hold("rsync")
			m.upgrade("a1", wire.OSVersion{ImageURI: uri})
			m.reached("rsync")
			Expect(m.leftovers()).To(ContainElement(HaveSuffix("/.snapshots/2/snapshot.img")))
			m.signal(signal, names...)
			m.release("rsync")
			expectSucceeded(digest)
		},
		Entry("of the CLI and its children, as for want of memory", syscall.SIGKILL, "elemental", "rsync"),
		Entry("of the agent and all it started", syscall.SIGKILL, "elemental-agent", "elemental", "rsync"),
		Entry("of the unit, as by systemctl restart", syscall.SIGTERM, "elemental-agent", "elemental", "rsync"),
	)

})
