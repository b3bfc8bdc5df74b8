// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package native_test

import (
	"syscall"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/onsi/gomega/types"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/wire"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/osimage"
)

var _ = Describe("On btrfs with snapper's daemon", Label(osimage.RealCLI), func() {
	var m *machine

	BeforeEach(func() { m = newMachineWith(snapper) })

	upgrade := func() (digest string) {
		GinkgoHelper()
		uri, digest := push(m.registry, "v2", kernel)
		m.upgrade("a1", wire.OSVersion{ImageURI: uri})
		return digest
	}
	expectSucceeded := func(digest string) {
		GinkgoHelper()
		Expect(m.ends("a1")).To(And(HaveField("Phase", wire.PhaseSucceeded), HaveField("Digest", digest)))
		m.expectWhole("2", "1")
	}
	eventually := func(name string, matcher types.GomegaMatcher) {
		GinkgoHelper()
		Eventually(func() []process { return m.named(name) }).Should(matcher)
	}
	// eventuallyOthers waits until a program runs, and none of its former processes.
	eventuallyOthers := func(name string, former []process) {
		GinkgoHelper()
		eventually(name, And(Not(BeEmpty()), HaveEach(Not(BeElementOf(former)))))
	}

	It("an upgrade survives a kill of the daemon after it has created the snapshot", func() {
		m.hold("rsync")
		digest := upgrade()
		m.reached("rsync")
		m.signal(syscall.SIGKILL, "snapperd")
		m.release("rsync")
		expectSucceeded(digest)
	})

	It("an upgrade survives a kill of the CLI while the daemon is still creating its snapshot", func() {
		m.hold(describing)
		digest := upgrade()
		m.reached(describing)
		asked := m.named("snapper")
		m.signal(syscall.SIGKILL, "elemental")
		eventuallyOthers("snapper", asked) // it has to delete the unfinished snapshot
		m.release(describing)
		expectSucceeded(digest)
		Expect(m.agentLog()).To(ContainSubstring(`msg="Removing the remains of a killed upgrade" snapshot=2`))
	})

	// The daemon exits when it reaches a request of a client that has exited, and the next client's request
	// fails with it.
	It("an upgrade survives a kill of the CLI whose request the daemon has not begun", func() {
		m.within("snapper list")
		m.signal(syscall.SIGSTOP, "snapperd")
		digest := upgrade()
		eventually("snapper", Not(BeEmpty()))
		killed, asked := m.named("elemental"), m.named("snapper")
		kill(syscall.SIGKILL, killed)
		eventuallyOthers("elemental", killed)
		eventuallyOthers("snapper", asked)
		m.signal(syscall.SIGCONT, "snapperd")
		expectSucceeded(digest)
	})

	Context("and no bus to reach it", func() {
		noBus := func() {
			m.signal(syscall.SIGKILL, "dbus-daemon")
			eventually("dbus-daemon", BeEmpty())
		}
		expectFailed := func() {
			GinkgoHelper()
			Expect(m.ends("a1")).To(And(HaveField("Phase", wire.PhaseFailed),
				HaveField("Message", ContainSubstring("snapper failed to create a new snapshot"))))
			m.expectSnapshots("1")
		}

		It("an upgrade fails, and leaves the host as it was", func() {
			noBus()
			upgrade()
			expectFailed()
		})

		It("what a killed CLI has left is removed nevertheless", func() {
			m.hold("post-upgrade")
			upgrade()
			m.reached("post-upgrade")
			noBus()
			m.signal(syscall.SIGKILL, "elemental")
			m.release("post-upgrade")
			expectFailed()
			Expect(m.agentLog()).To(ContainSubstring("snapper failed to delete a snapshot, deleting its subvolume"))
		})
	})
})
