// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package native_test

import (
	"syscall"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/wire"
)

var _ = Describe("An upgrade that is rolled back", func() {
	var m *machine

	BeforeEach(func() { m = newMachine() })

	var (
		// unhealthy reboots before the agent runs, as the toolkit's assessment does.
		unhealthy = files{"etc/unhealthy": ""}
		// unwanted fails one of the operator's checks.
		unwanted = files{"etc/elemental/agent/assess/required.d/50-no": "#!/bin/sh\necho no >&2\nexit 1\n"}
	)

	rollBack := func(attempt, version string, bad files) {
		GinkgoHelper()
		uri, _ := push(m.registry, version, kernel, bad)
		m.upgrade(attempt, wire.OSVersion{ImageURI: uri})
		Expect(m.ends(attempt)).To(And(HaveField("Phase", wire.PhaseRolledBack), HaveField("Healthy", true)))
	}

	succeed := func(attempt, version string) (digest string) {
		GinkgoHelper()
		uri, digest := push(m.registry, version, kernel)
		m.upgrade(attempt, wire.OSVersion{ImageURI: uri})
		Expect(m.ends(attempt)).To(And(HaveField("Phase", wire.PhaseSucceeded), HaveField("Digest", digest)))
		return digest
	}

	DescribeTable("leaves one good default and recovery, from which the next attempt starts",
		func(bad files, mode string) {
			rollBack("a1", "v2", bad)
			Expect(m.last().OS).To(And(HaveField("Snapshot", BeEquivalentTo(1)), HaveField("BootMode", mode), HaveField("Digest", firstDigest)))
			m.expectWhole("1")

			m.reboot()
			Expect(m.last().OS).To(And(HaveField("Snapshot", BeEquivalentTo(1)), HaveField("BootMode", "active")))

			digest := succeed("a2", "v3")
			Expect(m.last().OS).To(And(HaveField("Snapshot", BeEquivalentTo(2)), HaveField("BootMode", "active"), HaveField("Digest", digest)))
			m.expectWhole("2", "1")
		},
		Entry("by the boot loader", unhealthy, "passive"),
		Entry("by the agent", unwanted, "active"),
	)

	It("writes nothing when the requested OS already runs as the fallback", func() {
		digest := succeed("a1", "v2")
		rollBack("a2", "v3", unhealthy)
		Expect(m.last().OS).To(And(HaveField("Snapshot", BeEquivalentTo(2)), HaveField("BootMode", "passive")))
		boot := m.last().OS.BootID
		m.hold("rsync") // forever
		Expect(succeed("a3", "v2")).To(Equal(digest))
		Expect(m.last().OS.BootID).To(Equal(boot))
		m.expectWhole("2")
	})

	It("keeps the running OS as the fallback, although a hand has made the older one the default", func() {
		succeed("a1", "v2")
		m.within("cd " + stateDir + "/.snapshots && ln -sfn 1/snapshot.img active")
		digest := succeed("a2", "v3")
		Expect(m.last().OS).To(And(HaveField("Snapshot", BeEquivalentTo(3)), HaveField("Digest", digest)))
		m.expectWhole("3", "2")
	})

	It("writes an image that runs again for its recovery system, and only if that is not of it already", func() {
		digest := succeed("a1", "v2")
		uri, _ := push(m.registry, "v2", kernel)
		for _, attempt := range []string{"a2", "a3"} {
			m.upgrade(attempt, wire.OSVersion{ImageURI: uri, UpgradeRecovery: true})
			Expect(m.ends(attempt)).To(And(HaveField("Phase", wire.PhaseSucceeded), HaveField("Digest", digest)))
			Expect(m.last().OS).To(And(HaveField("Snapshot", BeEquivalentTo(3)), HaveField("BootMode", "active")))
		}
		m.expectWhole("3", "2")
	})

	It("upgrades a host whose installation state was cut by a loss of power", func() {
		const cut = `sed -i '/^            date: /{s/".*/"/;q}' ` + stateDir + `/state.yaml && tail -n1 ` + stateDir + `/state.yaml | grep -q 'date: "$'`
		first := succeed("a1", "v2")
		m.reboot() // with which it is copied
		m.within(cut)
		m.reboot()
		Expect(m.last().OS).To(And(HaveField("Snapshot", BeEquivalentTo(2)), HaveField("Digest", first)))
		m.within(cut + " && rm /var/lib/elemental/agent/state.yaml")
		digest := succeed("a2", "v3")
		Expect(m.last().OS).To(And(HaveField("Snapshot", BeEquivalentTo(3)), HaveField("Digest", digest)))
		m.expectWhole("3", "2")
	})

	It("does not undo a later manual upgrade", func() {
		rollBack("a1", "v2", unhealthy)
		uri, digest := push(m.registry, "v3", kernel)
		m.within("PATH=/native/bin:/usr/sbin:/usr/bin GHW_CHROOT=/run/ghw SSL_CERT_FILE=/native/ca.pem HOME=/tmp elemental upgrade --system " + uri)
		m.signal(syscall.SIGKILL, "elemental-agent")
		Eventually(func() []process { return m.named("elemental-agent") }).ShouldNot(BeEmpty())
		m.reboot()
		Expect(m.last().OS).To(And(HaveField("Snapshot", BeEquivalentTo(2)), HaveField("BootMode", "active"), HaveField("Digest", digest)))
		m.expectWhole("2", "1")
	})
})
