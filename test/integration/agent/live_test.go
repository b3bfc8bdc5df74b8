// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package agent_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/wire"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/double/disk"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/double/rendezvous"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/host"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/image"
)

// fromMedia boots a host from live media, and makes its registration install an image on it.
func fromMedia(os image.OS) func(*machine) {
	return func(m *machine) {
		m.live = true
		m.agentConfig = map[string]any{"hostname": map[string]any{"prefix": "edge-"}, "postInstall": map[string]any{"reboot": true}}
		m.installs(m.push("installed", os))
	}
}

// installs sets the image that the registration installs.
func (m *machine) installs(os image.Image) {
	m.api.SetConfig(fmt.Sprintf(`{"elemental":{"install":{"device":%q,"systemUri":%q}}}`, host.LiveDevice, os.URI()))
}

// modes of all boots.
func (m *machine) modes() []string {
	var modes []string
	for _, boot := range m.Boots() {
		modes = append(modes, boot.Mode)
	}
	return modes
}

// expectOne asserts one host, which was never another one, and whose OS has its name.
func (m *machine) expectOne() {
	GinkgoHelper()
	Expect(m.api.Hosts()).To(Equal([]string{m.name()}))
	Expect(m.api.Requests()).NotTo(ContainElement(HavePrefix("DELETE")))
	Expect(m.name()).To(MatchRegexp(`^edge-[0-9a-f]{32}$`))
	hostname, err := os.ReadFile(m.Path("/etc/hostname"))
	Expect(err).NotTo(HaveOccurred())
	Expect(strings.TrimSpace(string(hostname))).To(Equal(m.name()))
}

var _ = Describe("A host on live media", func() {
	It("is installed and keeps its identity when it boots from disk; after a reset it is a new host", func() {
		m := newMachine(fromMedia(image.OS{}), func(m *machine) {
			// Without systemUri the tree of the media is installed.
			m.api.SetConfig(fmt.Sprintf(`{"elemental":{"install":{"device":%q}}}`, host.LiveDevice))
		})
		m.expectOne()
		Expect(m.modes()).To(Equal([]string{"live", "active"}))
		Expect(m.finished("elemental", "install")).To(Equal(1))
		Expect(m.api.Created(m.name()).SMBIOS).To(Equal(map[string]string{"System Information/Serial Number": host.SerialNumber(hostName)}))
		Expect(m.last()).To(And(HaveField("Installed", true), HaveField("OS.Version", "v1"), HaveField("OS.Digest", BeEmpty())))

		By("upgrading it while it serves no Machine")
		v2 := m.push("v2", image.OS{})
		m.upgrade("idle-1", v2)
		Expect(m.ends("idle-1").Phase).To(Equal(wire.PhaseSucceeded))
		Expect(m.last().OS.Digest).To(Equal(v2.PlatformDigest))

		By("serving a Machine")
		m.api.SetBootstrap(&wire.Bootstrap{Format: "cloud-config", Config: bootstrapData})
		m.desire(wire.Desired{Bootstrap: true})
		Eventually(m.last, patience).Should(HaveField("Bootstrapped", true))
		m.expectOne()

		By("being reset")
		former := m.name()
		m.desire(wire.Desired{Reset: true})
		Eventually(func(g Gomega) {
			g.Expect(m.api.Hosts()).To(And(HaveLen(1), Not(ContainElement(former))))
			g.Expect(m.last()).To(And(HaveField("Bootstrapped", false), HaveField("OS.BootMode", "active")))
		}, patience).Should(Succeed())
		Expect(m.modes()).To(Equal([]string{"live", "active", "active", "active", "recovery", "active"}))
		hostname, err := os.ReadFile(m.Path("/etc/hostname"))
		Expect(err).NotTo(HaveOccurred())
		Expect(strings.TrimSpace(string(hostname))).To(Equal(m.api.Hosts()[0]))
		Expect(m.Path("/oem/90_custom.yaml")).NotTo(BeAnExistingFile(), "it names the former host")
	})

	killed := func(ctx context.Context, m *machine) error { return m.KillAgent(ctx) }
	unplugged := func(ctx context.Context, m *machine) error { return errors.Join(m.PowerOff(ctx), m.PowerOn(ctx)) }

	DescribeTable("is one host, and installed in the end, when it is interrupted",
		func(when, command string, cut func(context.Context, *machine) error, installs int, modes ...string) {
			var once sync.Once
			act := func(m *machine) {
				defer GinkgoRecover()
				if when == "in" {
					Eventually(m.Disk().Snapshot, patience).WithArguments(1, disk.WorkDir).Should(BeADirectory())
					m.installs(m.push("installed", image.OS{}))
				}
				Expect(cut(GinkgoT().Context(), m)).To(Succeed())
			}
			first := image.OS{}
			if when == "in" {
				first.UpgradeSeconds = 2 * patience.Seconds() // it is interrupted before
			}
			m := newMachine(fromMedia(first), func(m *machine) {
				m.met = func(m *machine, moment rendezvous.Moment) {
					if strings.Join(moment.Argv, " ") != command || moment.Done != (when == "after") {
						return
					}
					once.Do(func() {
						if when == "in" {
							go act(m) // the command must continue
						} else {
							act(m)
						}
					})
				}
			})
			m.expectOne()
			Expect(m.finished("elemental", "install")).To(Equal(installs))
			Expect(m.modes()).To(Equal(modes))
		},
		Entry("killed before the installation", "before", "elemental install", killed, 1, "live", "active"),
		Entry("killed in the middle of it", "in", "elemental install", killed, 1, "live", "active"),
		Entry("killed after it, which the agent does not know", "after", "elemental install", killed, 2, "live", "active"),
		Entry("killed before its reboot", "before", "systemctl reboot", killed, 1, "live", "active"),
		Entry("without power before the installation", "before", "elemental install", unplugged, 1, "live", "live", "active"),
		Entry("without power in the middle of it", "in", "elemental install", unplugged, 1, "live", "live", "active"),
		Entry("without power after it", "after", "elemental install", unplugged, 1, "live", "active"),
		Entry("without power before its reboot", "before", "systemctl reboot", unplugged, 1, "live", "active"),
	)

	It("is reset until the agent knows that it was, and not by the remains of a reset that lost power", func() {
		var once sync.Once
		m := newMachine(fromMedia(image.OS{}), func(m *machine) {
			m.met = func(m *machine, moment rendezvous.Moment) {
				if moment.Done && strings.Join(moment.Argv, " ") == "elemental reset" {
					once.Do(func() {
						defer GinkgoRecover()
						Expect(unplugged(GinkgoT().Context(), m)).To(Succeed())
					})
				}
			}
		})
		m.desire(wire.Desired{Reset: true})
		Eventually(m.api.Requests, patience).Should(ContainElement(HaveSuffix("/wiped")))
		Eventually(m.last, patience).Should(HaveField("OS.BootMode", "active"))
		Expect(m.api.Hosts()).To(Equal([]string{m.name()}))
		Expect(m.modes()).To(Equal([]string{"live", "active", "recovery", "active", "recovery", "active"}))
		Expect(m.Path("/oem/reset-cloud-config.yaml")).NotTo(BeAnExistingFile(), "its next recovery is not a reset")
	})

	It("is installed although the CLI is killed the first time", func() {
		m := newMachine(fromMedia(image.OS{UpgradeKilled: true}))
		m.expectOne()
		Expect(m.finished("elemental", "install")).To(Equal(1))
		Expect(m.modes()).To(Equal([]string{"live", "active"}))
	})
})
