// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package agent_test

import (
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/wire"
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

	BeforeEach(func() {
		m = newMachine()
		m.api.SetBootstrap(&wire.Bootstrap{Format: "cloud-config", Config: bootstrapData})
	})

	It("is bootstrapped by one reboot and stays so", func() {
		m.desire(wire.Desired{Bootstrap: true})
		Eventually(m.last, 10*time.Second).Should(HaveField("Bootstrapped", true))
		Expect(m.Boots()).To(HaveLen(2))
		Expect(m.Path("/etc/bootstrapped-by")).To(BeAnExistingFile())
		Expect(m.Path("/oem/bootstrap-cloud-config.yaml")).NotTo(BeAnExistingFile())

		Expect(m.PowerOff(GinkgoT().Context())).To(Succeed())
		Expect(m.PowerOn(GinkgoT().Context())).To(Succeed())
		Eventually(m.last, 10*time.Second).Should(HaveField("OS.BootID", Equal(lastBoot(m, 3))))
		Expect(m.last().Bootstrapped).To(BeTrue())
		Consistently(m.Boots, time.Second).Should(HaveLen(3))
	})

	It("is reset in recovery and registers anew", func() {
		m.desire(wire.Desired{Bootstrap: true})
		Eventually(m.last, 10*time.Second).Should(HaveField("Bootstrapped", true))
		m.desire(wire.Desired{Reset: true})
		Eventually(m.api.Requests, 20*time.Second).Should(ContainElement("DELETE hosts/" + hostName))
		Eventually(m.last, 20*time.Second).Should(And(
			HaveField("Phase", wire.HostFinalizingRegistration), HaveField("Bootstrapped", false), HaveField("OS.BootMode", "active")))
		Expect(m.finished("elemental", "reset")).To(Equal(1))
		Expect(m.Path("/oem/reset-cloud-config.yaml")).NotTo(BeAnExistingFile())
		Consistently(m.api.Hosts, time.Second).Should(Equal([]string{hostName}))
	})
})
