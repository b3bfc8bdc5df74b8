// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package native_test

import (
	"os"
	"path/filepath"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/wire"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/osimage"
)

var _ = Describe("A reset", func() {
	var (
		m      *machine
		former string
	)

	BeforeEach(func() {
		m = newMachine()
		former = m.api.Created(hostName).PubKey
	})

	key := func() string { return m.api.Created(hostName).PubKey }

	expectReset := func() {
		GinkgoHelper()
		Eventually(key).ShouldNot(BeElementOf("", former))
		Eventually(m.last).Should(And(HaveField("OS.Snapshot", BeEquivalentTo(1)), HaveField("OS.BootMode", "active")))
		Expect(m.api.Requests()).To(ContainElement("POST hosts/" + hostName + "/wiped"))
		Expect(m.leftovers()).To(BeEmpty())
		for _, gone := range []string{"reset-cloud-config.yaml", "elemental/agent/reset-order.json", "elemental/agent/private.key"} {
			Expect(m.path("/oem/" + gone)).NotTo(BeAnExistingFile())
		}
	}

	It("writes the recovery system's image and registers the host again", func() {
		m.api.SetConfig(`{"elemental":{"reset":{"configUrls":["/native/more.yaml"]}}}`)
		osimage.Write(filepath.Join(m.share, "more.yaml"), "name: More\n")
		m.within("echo x >/var/former")
		m.api.Desire(hostName, wire.Desired{Reset: true})
		expectReset()
		Expect(m.path("/var/former")).NotTo(BeAnExistingFile())
		copied, err := os.Stat(m.path("/oem/90_custom.yaml"))
		Expect(err).NotTo(HaveOccurred())
		Expect(copied.Mode().Perm()).To(BeEquivalentTo(0o600), "the CLI copies with another mode")
	})

	// fail makes a command of the machine fail.
	fail := func(name string) string {
		GinkgoHelper()
		path := filepath.Join(m.share, "fail", name)
		Expect(os.WriteFile(path, nil, 0o600)).To(Succeed())
		return path
	}

	It("that fails for a while is retried until it succeeds", func() {
		failing := fail("mkfs.ext4")
		m.api.Desire(hostName, wire.Desired{Reset: true})
		Eventually(m.agentLog).Should(ContainSubstring(`exit status 1 after \"Formatting 'state' partition\"`))
		Expect(os.Remove(failing)).To(Succeed())
		expectReset()
	})

	It("that cannot succeed leaves the host in its recovery system, where it reports why until the reset is requested again", func() {
		failing := fail("mkfs.ext4")
		m.api.Desire(hostName, wire.Desired{Reset: true})
		held := And(HaveField("Phase", wire.HostResetting), HaveField("OS.BootMode", "recovery"), HaveField("Message", And(
			HavePrefix("the OS could not be reset in 5 tries, the last of which failed: elemental reset: exit code "), ContainSubstring("Formatting 'state' partition"))))
		Eventually(m.last).Should(held)
		for _, name := range []string{"reset-tries.json", "config.yaml"} {
			info, err := os.Stat(m.path(stateDir + "/elemental-agent/" + name))
			Expect(err).NotTo(HaveOccurred())
			Expect(info.Mode().Perm()).To(BeEquivalentTo(0o600), name)
		}
		Expect(m.path("/oem/elemental/agent/config.yaml")).To(BeAnExistingFile())

		By("power-cycling it: the system that GRUB boots by default goes into recovery again")
		m.within("{ sleep 0.5; echo reboot >/native/power; } &")
		Eventually(m.last).Should(And(held, HaveField("OS.BootID", "boot-4")))

		By("requesting it again")
		Expect(os.Remove(failing)).To(Succeed())
		m.api.Desire(hostName, wire.Desired{Reset: false})
		Eventually(func() string {
			content, _ := os.ReadFile(m.path(stateDir + "/elemental-agent/reset-tries.json"))
			return string(content)
		}).Should(ContainSubstring(`"withdrawn": true`))
		m.api.Desire(hostName, wire.Desired{Reset: true})
		expectReset()
	})
})
