// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package double_test

import (
	"os"
	"path/filepath"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/double/calls"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/double/disk"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/double/grub"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/double/power"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/double/source"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/double/state"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/double/units"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/image"
)

var _ = Describe("The commands of a host", Ordered, func() {
	var registry *image.Registry

	BeforeAll(func() {
		var err error
		registry, err = image.Start(image.Options{})
		Expect(err).NotTo(HaveOccurred())
		DeferCleanup(registry.Close)
	})

	booted := func() *machine {
		m := newMachine(registry)
		m.powerOn()
		return m
	}

	recorded := func(m *machine) *state.System {
		f, err := state.Read(m.State(disk.StateFile))
		Expect(err).NotTo(HaveOccurred())
		active, err := m.Active()
		Expect(err).NotTo(HaveOccurred())
		return f.State.Snapshots[active]
	}

	Describe("elemental upgrade", func() {
		It("takes its input from the environment, and logs it", func() {
			m := booted()
			m.push("v2", image.OS{})
			GinkgoT().Setenv("UNRELATED", "1")
			out, rc := m.runEnv([]string{
				"ELEMENTAL_UPGRADE_SYSTEM=" + m.images["v2"].URI(), "ELEMENTAL_UPGRADE_RECOVERY=true",
				"ELEMENTAL_UPGRADE_SNAPSHOT_LABELS=a=b,c=d",
			}, "elemental", "--debug", "upgrade")
			Expect(rc).To(BeZero(), out)
			Expect(recorded(m).Labels).To(Equal(map[string]string{"a": "b", "c": "d"}))
			f, err := state.Read(m.State(disk.StateFile))
			Expect(err).NotTo(HaveOccurred())
			Expect(f.Recovery.Recovery.FromAction).To(Equal(state.ActionUpgrade))
			Expect(f.Recovery.Recovery.Digest).To(Equal(m.images["v1"].Digest), "the CLI does not renew it")
			Expect(os.ReadFile(m.Recovery(disk.RecoveryImage))).To(Equal(must(os.ReadFile(m.Snapshot(2, disk.SnapshotImage)))))

			log, err := calls.Read(string(m.Disk))
			Expect(err).NotTo(HaveOccurred())
			Expect(log).To(HaveLen(1))
			Expect(log[0].Is("elemental", "upgrade")).To(BeTrue())
			Expect(log[0].RC).To(BeZero())
			Expect(log[0].End).To(BeTemporally(">", log[0].Start))
			Expect(log[0].Env).To(HaveLen(3))
			Expect(log[0].Env).To(HaveKeyWithValue("ELEMENTAL_UPGRADE_RECOVERY", "true"))
		})

		It("logs what fails in a stage of its hooks, and continues", func() {
			m := booted()
			m.push("v2", image.OS{Labels: map[string]string{source.LabelFailingStage: "after-upgrade"}})
			out, rc := m.run("elemental", "upgrade", "--system", m.images["v2"].URI())
			Expect(rc).To(BeZero(), out)
			Expect(out).To(MatchRegexp(`(?s)INFO\S* Running after-upgrade hook +\n\S*ERRO\S* no cache\n : failed to run exit 3: exit status 3 \n` +
				`\S*ERRO\S* 1 error occurred:.*INFO\S* Running post-upgrade hook .*INFO\S* Upgrade completed`))
		})

		It("records the platform's digest of an index, by tag and by digest", func() {
			m := booted()
			m.push("multi", image.OS{MultiArch: true})
			img := m.images["multi"]
			Expect(img.Digest).NotTo(Equal(img.PlatformDigest))
			Expect(m.upgrade("multi")).To(BeZero())
			Expect(recorded(m).Digest).To(Equal(img.PlatformDigest))
			m.ok("elemental", "upgrade", "--system", "docker:"+registry.Host()+"/elemental/os@"+img.Digest)
			Expect(recorded(m).Digest).To(Equal(img.PlatformDigest))
			Expect(recorded(m).Source).To(Equal("oci://" + registry.Host() + "/elemental/os@" + img.Digest))
		})

		It("tolerates plain HTTP, even when told to verify TLS", func() {
			plain, err := image.Start(image.Options{PlainHTTP: true})
			Expect(err).NotTo(HaveOccurred())
			DeferCleanup(plain.Close)
			img, err := plain.Push(GinkgoT().Context(), "os", "v2", image.OS{Version: "v2", Bytes: 1 << 10})
			Expect(err).NotTo(HaveOccurred())
			m := booted()
			m.ok("elemental", "upgrade", "--tls-verify", "--system", "oci:"+img.Ref)
			Expect(recorded(m).Digest).To(Equal(img.Digest))
			Expect(plain.Asked(img)).To(ContainElement(HaveField("UserAgent", ContainSubstring("elemental-cli/"))))
		})

		It("records no digest of a directory", func() {
			m := booted()
			tree := GinkgoT().TempDir()
			Expect(os.MkdirAll(filepath.Join(tree, "etc"), 0o755)).To(Succeed())
			Expect(os.WriteFile(filepath.Join(tree, "etc/os-release"), []byte("PRETTY_NAME=\"dir\"\n"), 0o600)).To(Succeed())
			m.ok("elemental", "upgrade", "--system", "dir:"+tree)
			Expect(recorded(m).Digest).To(BeEmpty())
			Expect(recorded(m).Source).To(Equal("dir://" + tree))
			Expect(m.powerOn()).To(Equal("active=2"))
			Expect(must(os.ReadFile(m.Path("/etc/os-release")))).To(ContainSubstring(`"dir"`))
		})

		DescribeTable("exits 33 before it begins", func(system string) {
			out, rc := booted().run("elemental", "upgrade", "--system="+system)
			Expect(rc).To(Equal(33), out)
		},
			Entry("without a system", ""),
			Entry("for a reference that begins with an address and port, which is not a URI", "127.0.0.1:5000/os:v1"),
		)
	})

	It("elemental reset works in recovery only, and reinstalls its system", func() {
		m := booted()
		_, rc := m.run("elemental", "reset")
		Expect(rc).To(Equal(33))
		good := must(os.ReadFile(m.Recovery(disk.RecoveryImage)))
		m.ok("grub2-editenv", m.Path("/oem/grubenv"), "set", "next_entry=recovery")
		Expect(m.powerOn()).To(Equal("recovery=0"))
		Expect(m.Path("/run/elemental/recovery_mode")).To(BeAnExistingFile())
		Expect(m.Path(disk.StateDir, disk.RecoveryImage)).To(BeAnExistingFile())
		m.ok("elemental", "reset", "--reset-oem")
		Expect(must(os.ReadFile(m.Recovery(disk.RecoveryImage)))).To(Equal(good))
		Expect(recorded(m).FromAction).To(Equal(state.ActionReset))
		Expect(recorded(m).Digest).To(Equal(m.images["v1"].Digest))
		Expect(m.mounts()).NotTo(ContainSubstring(disk.OEMDir))
		Expect(m.WriteFile("/oem/lost", nil)).To(Succeed())
		m.ok("mount", m.Path(disk.OEMDir))
		Expect(m.WriteFile("/oem/lasts", nil)).To(Succeed())
		Expect(m.env("/oem/grubenv")).To(Equal("boot_assessment_check=yes"))
		Expect(m.powerOn()).To(Equal("active=1"))
		Expect(m.Path("/oem/lost")).NotTo(BeAnExistingFile())
		Expect(m.Path("/oem/lasts")).To(BeAnExistingFile())
	})

	It("the recovery system sees nothing of /etc and /var, and leaves nothing there", func() {
		m := booted()
		Expect(m.WriteFile("/var/lib/elemental/agent/key", []byte("kept"))).To(Succeed())
		m.ok("grub2-editenv", m.Path("/oem/grubenv"), "set", "next_entry=recovery")
		m.powerOn()
		Expect(m.Path("/var/lib/elemental/agent/key")).NotTo(BeAnExistingFile())
		Expect(m.WriteFile("/etc/made-in-recovery", nil)).To(Succeed())
		m.powerOn()
		Expect(must(os.ReadFile(m.Path("/var/lib/elemental/agent/key")))).To(BeEquivalentTo("kept"))
		Expect(m.Path("/etc/made-in-recovery")).NotTo(BeAnExistingFile())
	})

	It("elemental state prints state.yaml without its header, and exits 89 without the file", func() {
		m := booted()
		out, rc := m.run("elemental", "state")
		Expect(rc).To(BeZero())
		Expect(must(os.ReadFile(m.State(disk.StateFile)))).To(BeEquivalentTo(
			"# Autogenerated file by elemental client, do not edit\n\n" + out))
		Expect(os.Remove(m.State(disk.StateFile))).To(Succeed())
		_, rc = m.run("elemental", "state")
		Expect(rc).To(Equal(89))
	})

	It("losetup shows the booted snapshot, the command line a passive one only", func() {
		m := booted()
		good2(m)
		out, _ := m.run("losetup", "-ln", "-O", "BACK-FILE")
		Expect(out).To(Equal("/run/initramfs/elemental-state/.snapshots/1/snapshot.img\n"))
		out, _ = m.run("losetup", "-ln", "-O", "NAME,MAJ:MIN,BACK-MAJ:MIN")
		Expect(strings.Fields(out)).To(Equal([]string{"/dev/loop0", "7:0", "254:4"}))
		m.powerOn()
		Expect(must(os.ReadFile(m.Path("/proc/cmdline")))).NotTo(ContainSubstring("elemental.image"))
		m.ok("grub2-editenv", "/oem/grubenv", "set", "next_entry=passive1")
		m.powerOn()
		Expect(must(os.ReadFile(m.Path("/proc/cmdline")))).To(ContainSubstring("elemental.image=/.snapshots/1/snapshot.img"))
	})

	It("losetup shows what a killed upgrade left attached, until it is detached or the host reboots", func() {
		m := booted()
		m.push("v2", image.OS{Labels: map[string]string{source.LabelUpgradeKilled: source.OncePacking}})
		Expect(m.upgrade("v2")).To(Equal(-1))
		out, _ := m.run("losetup", "-ln", "-O", "NAME,MAJ:MIN,BACK-MAJ:MIN,BACK-FILE")
		Expect(out).To(HaveSuffix("/dev/loop1     7:1         254:4  /run/initramfs/elemental-state/.snapshots/2/snapshot.img\n"))
		Expect(m.mounts()).To(ContainSubstring(disk.WorkingTree))
		m.ok("losetup", "-d", "/dev/loop1")
		_, rc := m.run("losetup", "-d", "/dev/loop1")
		Expect(rc).To(Equal(1))
		Expect(must(m.Attach("/x"))).To(Equal("/dev/loop1"))
		m.powerOn()
		Expect(must(m.Loops())).To(HaveLen(1))
	})

	It("df prints the free space of the state partition that is not reserved", func() {
		m := booted()
		Expect(m.SetStateBytes(1 << 40)).To(Succeed())
		out, rc := m.run("df", "-B1", "--output=avail", m.State())
		Expect(rc).To(BeZero())
		Expect(out).To(MatchRegexp(`^ +Avail\n1044\d{9}\n$`))
	})

	It("grub2-editenv keeps a block of 1024 bytes", func() {
		m := booted()
		m.ok("grub2-editenv", m.GrubEnv(), "set", "a=1", "b=x y")
		block := must(os.ReadFile(m.GrubEnv()))
		Expect(block).To(HaveLen(grub.BlockSize))
		Expect(string(block)).To(HavePrefix("# GRUB Environment Block\na=1\nb=x y\n####"))
		_, rc := m.run("grub2-editenv", m.GrubEnv(), "set", "nonsense")
		Expect(rc).To(Equal(1))
		Expect(must(os.ReadFile(m.GrubEnv()))).To(Equal(block))
	})

	It("mount and umount stack", func() {
		m := booted()
		m.ok("mount", "--bind", "/a", "/b")
		m.ok("mount", "--bind", "/c", "/b")
		m.ok("umount", "/b")
		out, _ := m.run("mount")
		Expect(out).To(ContainSubstring("/a on /b type auto (bind)"))
		Expect(out).NotTo(ContainSubstring("/c on /b"))
		m.ok("umount", "/b")
		_, rc := m.run("umount", "/b")
		Expect(rc).To(Equal(32))
	})

	Describe("systemctl", func() {
		It("prints the state of units", func() {
			m := booted()
			Expect(units.Set(string(m.Disk), units.Kubelet, units.Active)).To(Succeed())
			Expect(units.Set(string(m.Disk), units.BootAssessment, units.Failed)).To(Succeed())
			out, rc := m.run("systemctl", "is-active", "rke2-server.service", "kubelet.service")
			Expect(out).To(Equal("inactive\nactive\n"))
			Expect(rc).To(BeZero())
			out, rc = m.run("systemctl", "is-active", "elemental-boot-assessment.service")
			Expect(out).To(Equal("failed\n"))
			Expect(rc).To(Equal(3))
			out, _ = m.run("systemctl", "list-units", "--state=failed", "--no-legend", "--plain")
			Expect(out).To(HavePrefix("elemental-boot-assessment.service loaded failed failed "))
		})

		It("prints what units are, and what triggers them", func() {
			m := booted()
			Expect(units.Set(string(m.Disk), "backup.timer", units.Active)).To(Succeed())
			out, rc := m.run("systemctl", "show", "--property=Id,LoadState,FragmentPath,Transient,TriggeredBy", "--", "backup.service", "run-u1.service")
			Expect(out).To(Equal("Id=backup.service\nLoadState=loaded\nFragmentPath=/usr/lib/systemd/system/backup.service\nTransient=no\nTriggeredBy=backup.timer\n\n" +
				"Id=run-u1.service\nLoadState=loaded\nFragmentPath=/run/systemd/transient/run-u1.service\nTransient=yes\nTriggeredBy=\n"))
			Expect(rc).To(BeZero())
		})

		It("asks the supervisor for a reboot, and fails without one", func() {
			m := booted()
			_, rc := m.run("systemctl", "reboot")
			Expect(rc).To(Equal(1))
			listener, err := power.Listen(string(m.Disk))
			Expect(err).NotTo(HaveOccurred())
			DeferCleanup(listener.Close)
			m.ok("systemctl", "reboot")
			m.ok("systemctl", "reboot", "--force")
			m.ok("shutdown", "-r", "+1")
			Eventually(listener.Requests).Should(Receive(Equal(power.Request{Action: power.Reboot, By: "systemctl reboot"})))
			Eventually(listener.Requests).Should(Receive(HaveField("Force", true)))
			Eventually(listener.Requests).Should(Receive(HaveField("Action", power.Reboot)))
		})
	})

	It("does nothing where there is no lab host", func() {
		m := booted()
		_, rc := m.runEnv([]string{"LAB_HOST_ROOT="}, "reboot", "-f")
		Expect(rc).To(Equal(2))
	})
})

func must[T any](v T, err error) T {
	GinkgoHelper()
	Expect(err).NotTo(HaveOccurred())
	return v
}
