// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package double_test

import (
	"os"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/double/boot"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/double/disk"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/image"
)

var _ = Describe("elemental install", Ordered, func() {
	var registry *image.Registry

	BeforeAll(func() {
		var err error
		registry, err = image.Start(image.Options{})
		Expect(err).NotTo(HaveOccurred())
		DeferCleanup(registry.Close)
	})

	It("installs the tree of the media, and cloud-init files under generated names; what is written on the media does not survive a reboot", func() {
		m := newLiveMachine(registry)
		Expect(m.Path("/run/elemental/live_mode")).To(BeAnExistingFile())
		Expect(m.WriteFile("/oem/set-hostname.yaml", []byte("name"))).To(Succeed())
		Expect(m.WriteFile("/var/lib/elemental/agent/private.key", nil)).To(Succeed())
		out, rc := m.runEnv([]string{
			"ELEMENTAL_INSTALL_TARGET=/dev/vda", "ELEMENTAL_INSTALL_CLOUD_INIT=" + m.Path("/oem/set-hostname.yaml"),
		}, "elemental", "install")
		Expect(rc).To(BeZero(), out)
		Expect(m.mounts()).To(Equal("/:rw"), "nothing of the disk")

		Expect(m.powerOn()).To(Equal("active=1"))
		Expect(must(os.ReadFile(m.Path("/oem/90_custom.yaml")))).To(BeEquivalentTo("name"))
		Expect(must(os.Stat(m.Path("/oem/90_custom.yaml")))).To(HaveField("Mode()", os.FileMode(0o666)))
		Expect(m.Path("/oem/set-hostname.yaml")).NotTo(BeAnExistingFile())
		Expect(m.Path("/var/lib/elemental/agent/private.key")).NotTo(BeAnExistingFile())
		Expect(m.stateYAML()).To(And(ContainSubstring("source: dir://"), ContainSubstring("fromAction: install"), Not(ContainSubstring("digest"))))
		Expect(m.mounts()).To(Equal(idle))
	})

	It("installs the image that it is given", func() {
		m := newLiveMachine(registry)
		out, rc := m.runEnv([]string{"ELEMENTAL_INSTALL_SYSTEM=" + m.images["v1"].URI()}, "elemental", "install", "/dev/vda")
		Expect(rc).To(BeZero(), out)
		Expect(m.stateYAML()).To(Equal(head + installed(active)))
	})

	DescribeTable("refuses", func(rc int, argv ...string) {
		m := newLiveMachine(registry)
		out, got := m.run(append([]string{"elemental", "install"}, argv...)...)
		Expect(got).To(Equal(rc), out)
		Expect(m.powerOn()).To(Equal("live=0"))
	},
		Entry("no device", 47),
		Entry("one that is not there", 1, "/dev/sda"),
	)

	It("refuses a disk that the host runs from", func() {
		m := newMachine(registry)
		m.powerOn()
		Expect(m.WriteFile("/dev/vda", nil)).To(Succeed())
		out, rc := m.run("elemental", "install", "--debug", "/dev/vda")
		Expect(rc).To(Equal(1), out)
		Expect(m.powerOn()).To(Equal("active=1"))
	})

	It("killed halfway, leaves a disk without a boot loader, in use until it is unmounted or the media is booted again", func() {
		for _, clean := range []func(*machine){
			func(m *machine) {
				m.ok("umount", disk.WorkingTree)
				for _, mount := range disk.InstallMounts() {
					m.ok("umount", mount.Target)
				}
			},
			func(m *machine) { Expect(m.powerOn()).To(Equal("live=0")) },
		} {
			m := newLiveMachine(registry)
			m.push("v2", image.OS{UpgradeKilled: true})
			install := []string{"ELEMENTAL_INSTALL_TARGET=/dev/vda", "ELEMENTAL_INSTALL_SYSTEM=" + m.images["v2"].URI()}
			_, rc := m.runEnv(install, "elemental", "install")
			Expect(rc).To(Equal(-1))
			out, rc := m.runEnv(install, "elemental", "install")
			Expect(rc).To(Equal(1))
			Expect(out).To(ContainSubstring("being used"))
			clean(m)
			out, rc = m.runEnv(install, "elemental", "install")
			Expect(rc).To(BeZero(), out)
			Expect(m.powerOn()).To(Equal("active=1"))
			Expect(must(boot.Next(m.Disk)).Image.PrettyName()).To(Equal("v2"))
		}
	})
})
