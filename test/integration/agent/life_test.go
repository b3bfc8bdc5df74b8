// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package agent_test

import (
	"strings"
	"sync"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/wire"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/double/rendezvous"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/image"
)

const bootstrapData = `## template: jinja
#cloud-config
write_files:
- path: /etc/bootstrapped-by
  permissions: "0600"
  content: cluster-api
runcmd:
- mkdir -p /run/cluster-api && echo success > /run/cluster-api/bootstrap-success.complete
`

var _ = Describe("The life of a host", func() {
	var m *machine

	withBootstrapData := func(m *machine) {
		m.api.SetBootstrap(&wire.Bootstrap{Format: "cloud-config", Config: bootstrapData})
	}

	BeforeEach(func() { m = newMachine(withBootstrapData) })

	It("is bootstrapped with one reboot and stays bootstrapped", func() {
		m.desire(wire.Desired{Bootstrap: true})
		Eventually(m.last, patience).Should(HaveField("Bootstrapped", true))
		Expect(m.Boots()).To(HaveLen(2))
		Expect(m.Path("/etc/bootstrapped-by")).To(BeAnExistingFile())
		Expect(m.Path("/oem/bootstrap-cloud-config.yaml")).NotTo(BeAnExistingFile())

		Expect(m.PowerOff(GinkgoT().Context())).To(Succeed())
		Expect(m.PowerOn(GinkgoT().Context())).To(Succeed())
		Eventually(m.last, patience).Should(HaveField("OS.BootID", Equal(lastBoot(m, 3))))
		Expect(m.last().Bootstrapped).To(BeTrue())
		Consistently(m.Boots, time.Second).Should(HaveLen(3))
	})

	It("is reset in recovery and registers again", func() {
		m.desire(wire.Desired{Bootstrap: true})
		Eventually(m.last, patience).Should(HaveField("Bootstrapped", true))
		m.desire(wire.Desired{Reset: true})
		Eventually(m.api.Requests, patience).Should(ContainElements("DELETE hosts/"+hostName, "POST hosts/"+hostName+"/wiped"))
		Eventually(m.last, patience).Should(And(
			HaveField("Phase", wire.HostFinalizingRegistration), HaveField("Bootstrapped", false), HaveField("OS.BootMode", "active")))
		Expect(m.finished("elemental", "reset")).To(Equal(1))
		for _, gone := range []string{"reset-cloud-config.yaml", "elemental/agent/reset-order.json", "elemental/agent/private.key"} {
			Expect(m.Path("/oem", gone)).NotTo(BeAnExistingFile())
		}
		Consistently(m.api.Hosts, time.Second).Should(Equal([]string{hostName}))
	})

	It("is wiped in recovery although the registration's token is no longer valid", func() {
		m.desire(wire.Desired{Bootstrap: true})
		Eventually(m.last, patience).Should(HaveField("Bootstrapped", true))
		Expect(m.Disk().WriteFile("/oem/99_operators.yaml", []byte("name: x\n"))).To(Succeed())
		m.api.Rotate()
		m.desire(wire.Desired{Reset: true})
		Eventually(m.api.Requests, patience).Should(ContainElement("POST hosts/" + hostName + "/wiped"))
		Expect(m.finished("elemental", "reset")).To(Equal(1))
		Eventually(m.mode, patience).Should(Equal("active"))
		Expect(m.Path("/etc/bootstrapped-by")).NotTo(BeAnExistingFile())
		Expect(m.Path("/oem/99_operators.yaml")).NotTo(BeAnExistingFile(), "its registration said so while the host could ask")
		Eventually(m.Path, patience).WithArguments("/etc/elemental/agent/config.yaml").Should(BeAnExistingFile(), "it only wants another token")
		Expect(m.api.Hosts()).To(BeEmpty())
	})

	DescribeTable("is wiped, keeps nothing from before and becomes exactly one new host when it loses power",
		func(when, command string) {
			var once sync.Once
			m := newMachine(withBootstrapData, func(m *machine) {
				m.met = func(m *machine, moment rendezvous.Moment) {
					if strings.Join(moment.Argv, " ") == command && moment.Done == (when == "after") && m.mode() == "recovery" {
						once.Do(func() {
							defer GinkgoRecover()
							Expect(m.PowerOff(GinkgoT().Context())).To(Succeed())
							Expect(m.PowerOn(GinkgoT().Context())).To(Succeed())
						})
					}
				}
			})
			m.desire(wire.Desired{Bootstrap: true})
			Eventually(m.last, patience).Should(HaveField("Bootstrapped", true))
			former := m.api.Created(hostName).PubKey
			m.desire(wire.Desired{Reset: true})
			Eventually(func() string { return m.api.Created(hostName).PubKey }, patience).ShouldNot(BeElementOf("", former))
			Eventually(m.last, patience).Should(And(
				HaveField("Phase", wire.HostFinalizingRegistration), HaveField("Bootstrapped", false), HaveField("OS.BootMode", "active")))
			Expect(m.api.Requests()).To(ContainElement("POST hosts/" + hostName + "/wiped"))
			Expect(m.api.Hosts()).To(Equal([]string{hostName}))
			Expect(m.finished("elemental", "reset")).To(BeNumerically(">=", 1))

			By("serving another machine")
			m.desire(wire.Desired{Bootstrap: true})
			Eventually(m.last, patience).Should(HaveField("Bootstrapped", true))
		},
		Entry("before its disk is touched", "before", "elemental reset"),
		Entry("when its disk is reset, which the agent does not know yet", "after", "elemental reset"),
	)

	It("is upgraded before it is bootstrapped, each of them once", func() {
		v2 := m.push("v2", image.OS{})
		m.desire(wire.Desired{Bootstrap: true, Upgrade: request("idle-1", v2.URI(), true)})
		Eventually(m.last, patience).Should(And(HaveField("Bootstrapped", true), HaveField("OS.Digest", v2.PlatformDigest)))
		Expect(m.Boots()).To(HaveLen(3))
		Expect(m.finished("elemental", "upgrade")).To(Equal(1))
		Expect(m.Boots()[1]).To(HaveField("Version", "v2"), "the second boot is the one into the new OS, the third into the bootstrap")
	})

	It("is upgraded immediately when it serves no Machine", func() {
		v2 := m.push("v2", image.OS{})
		m.upgrade("idle-1", v2)
		Expect(m.ends("idle-1").Phase).To(Equal(wire.PhaseSucceeded))
		Expect(m.last()).To(And(HaveField("Bootstrapped", false), HaveField("OS.Digest", v2.PlatformDigest)))
	})

	DescribeTable("is bootstrapped by the data of a bootstrap provider",
		func(data string, files ...string) {
			m.api.SetBootstrap(&wire.Bootstrap{Format: "cloud-config", Config: data})
			m.desire(wire.Desired{Bootstrap: true})
			Eventually(m.last, patience).Should(HaveField("Bootstrapped", true))
			for _, file := range files {
				Expect(m.Path(file)).To(BeAnExistingFile())
			}
			Expect(m.Path("/oem/bootstrap-cloud-config.yaml")).NotTo(BeAnExistingFile(), "it holds a join token")
			Expect(m.Boots()).To(HaveLen(2))
		},
		Entry("kubeadm", kubeadmData, "/run/kubeadm/kubeadm-join-config.yaml"),
		Entry("RKE2", rke2Data, "/etc/rancher/rke2/config.yaml", "/etc/rke2-started"),
		Entry("K3s", k3sData, "/etc/rancher/k3s/config.yaml", "/etc/k3s-started"),
	)

	It("stays bootstrapped when it loses power just after bootstrapping, and the sentinel file is lost", func() {
		m.desire(wire.Desired{Bootstrap: true})
		Eventually(m.Path, patience, time.Millisecond).WithArguments("/run/cluster-api/bootstrap-success.complete").Should(BeAnExistingFile())
		Expect(m.PowerOff(GinkgoT().Context())).To(Succeed())
		Expect(m.Path("/run/cluster-api/bootstrap-success.complete")).NotTo(BeAnExistingFile())
		Expect(m.PowerOn(GinkgoT().Context())).To(Succeed())
		Eventually(m.last, patience).Should(And(HaveField("Bootstrapped", true), HaveField("OS.BootID", lastBoot(m, 3))))
		Expect(bootstraps(m)).To(Equal(1))
	})

	It("detects a reset that left its work directory unchanged", func() {
		m.api.SetConfig(`{"elemental":{"reset":{"resetPersistent":false}}}`)
		m.desire(wire.Desired{Bootstrap: true})
		Eventually(m.last, patience).Should(HaveField("Bootstrapped", true))
		former := m.api.Created(hostName).PubKey
		m.desire(wire.Desired{Reset: true})
		Eventually(m.last, patience).Should(And(
			HaveField("Phase", wire.HostFinalizingRegistration), HaveField("Bootstrapped", false), HaveField("OS.BootMode", "active")))
		Expect(m.api.Created(hostName).PubKey).NotTo(Equal(former))
		Expect(m.finished("elemental", "reset")).To(Equal(1))
		Consistently(m.mode, time.Second).Should(Equal("active"))
	})
})

var _ = Describe("Registering", func() {
	hostname := func(options map[string]any) func(*machine) {
		return func(m *machine) { m.agentConfig["hostname"] = options }
	}
	firmware := func(m *machine) {
		m.files = map[string]string{
			"/sys/class/dmi/id/product_uuid": "4c4c4544-0043-3010-8052-b4c04f564231\n",
			"/sys/class/dmi/id/sys_vendor":   "ACME, Inc.\n",
			"/sys/class/dmi/id/board_serial": "\n",
		}
	}

	DescribeTable("chooses a name, once",
		func(options map[string]any, pattern string) {
			m := newMachine(hostname(options))
			name := m.name()
			Expect(name).To(MatchRegexp(pattern))
			Expect(m.api.Hosts()).To(Equal([]string{name}))
			Expect(m.PowerOff(GinkgoT().Context())).To(Succeed())
			Expect(m.PowerOn(GinkgoT().Context())).To(Succeed())
			Eventually(m.last, patience).Should(HaveField("OS.BootID", lastBoot(m, 2)))
			Expect(m.api.Hosts()).To(Equal([]string{name}))
		},
		Entry("at random", map[string]any{}, `^m-[0-9a-f]{32}$`),
		Entry("with a prefix", map[string]any{"prefix": "edge-"}, `^edge-[0-9a-f]{32}$`),
		Entry("that the host has", map[string]any{"useExisting": true}, `^host-1$`),
	)

	It("continues as the host that the predecessor's agent has bootstrapped, and never bootstraps it again", func() {
		m := newMachine(hostname(map[string]any{}), func(m *machine) {
			m.files = map[string]string{
				"/var/lib/elemental/agent/private.key": predecessorsKey, "/etc/hostname": "m-b5cc6b1d\n", "/etc/kubernetes/kubelet.conf": "x",
			}
		})
		Expect(m.name()).To(Equal("m-b5cc6b1d"))
		m.api.SetBootstrap(&wire.Bootstrap{Format: "cloud-config", Config: bootstrapData})
		m.desire(wire.Desired{Bootstrap: true})
		Eventually(m.last, patience).Should(And(HaveField("Phase", wire.HostRunning), HaveField("Bootstrapped", true)))
		Consistently(m.Boots, time.Second).Should(HaveLen(1))
	})

	It("reports what the firmware reports", func() {
		m := newMachine(firmware)
		Expect(m.api.Created(hostName).SMBIOS).To(Equal(map[string]string{
			"System Information/UUID": "4c4c4544-0043-3010-8052-b4c04f564231", "System Information/Manufacturer": "ACME, Inc.",
		}))
	})

	It("does not if configured not to", func() {
		m := newMachine(firmware, func(m *machine) { m.agentConfig["noSmbios"] = true })
		Expect(m.api.Created(hostName).SMBIOS).To(BeEmpty())
	})
})

// predecessorsKey is in the format of the predecessor's key file.
const predecessorsKey = `-----BEGIN PRIVATE KEY-----
MC4CAQAwBQYDK2VwBCIEIJ1hsZ3v/VpguoRK9JLsLMREScVpezJpGXA7rAMcrn9g
-----END PRIVATE KEY-----
`

// bootstraps counts how often bootstrap data were served.
func bootstraps(m *machine) int {
	count := 0
	for _, request := range m.api.Requests() {
		if request == "GET hosts/"+hostName+"/bootstrap" {
			count++
		}
	}
	return count
}
