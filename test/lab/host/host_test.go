// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package host_test

import (
	"os"
	"strings"
	"syscall"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/double/disk"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/double/grub"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/double/source"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/host"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/image"
)

func lastAttempt(e *grub.Env) string { return e.Get(grub.LastBootAttempt) }

func read(path string) string {
	data, err := os.ReadFile(path)
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(data))
}

var _ = Describe("A host", func() {
	It("boots its first snapshot, passes its assessment and runs the agent", func() {
		l := newLab()
		b := l.awaitBoot(1)
		Expect(b.Entry).To(Equal("active"))
		Expect(b.HealthCheck).To(BeTrue())
		Expect(b.Version).To(Equal("v1"))
		Expect(read(l.Path("/proc/sys/kernel/random/boot_id"))).To(Equal(b.ID))
		Expect(b.ID).To(MatchRegexp(`^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$`))
		Expect(read(l.Path("/etc/os-release"))).To(ContainSubstring(`PRETTY_NAME="v1"`))
		Expect(read(l.Path("/etc/hostname"))).To(Equal("host-1"))
		Expect(read(l.Path(host.AgentConfig))).To(Equal("agent: {}"))
		Expect(l.said()).To(Equal([]string{"run --root " + l.Path() + " --config " + l.Path(host.AgentConfig)}))
		Expect(l.BootedSnapshot()).To(Equal(1))
		Expect(l.kubelet.Log()).To(BeEmpty(), "it has not joined a cluster")
	})

	It("reboots gracefully when a command on it requests that", func() {
		l := newLab()
		before := l.awaitBoot(1)
		Expect(l.Disk().WriteFile("/run/something", nil)).To(Succeed())
		Expect(l.Disk().WriteFile("/var/lib/elemental/agent/marker", []byte("kept"))).To(Succeed())
		pid := l.AgentPID()
		l.run("systemctl", "reboot")
		after := l.awaitBoot(2)
		Expect(after.ID).NotTo(Equal(before.ID))
		Expect(l.Boots()[0].Down).To(BeTemporally("<=", after.Started))
		Expect(l.said()[1]).To(Equal("terminated"))
		Expect(l.AgentPID()).NotTo(Equal(pid))
		Expect(l.Path("/run/something")).NotTo(BeAnExistingFile())
		Expect(read(l.Path("/var/lib/elemental/agent/marker"))).To(Equal("kept"))
		calls, err := l.Calls()
		Expect(err).NotTo(HaveOccurred())
		Expect(calls).To(HaveLen(1))
		Expect(calls[0].Is("systemctl", "reboot")).To(BeTrue())
	})

	It("kills an agent that does not stop in time", func() {
		l := newLab(func(o *host.Options) { o.ShutdownTimeout = 100 * time.Millisecond })
		Expect(l.Disk().WriteFile("/lab/stubborn", nil)).To(Succeed())
		pid := l.AgentPID()
		l.run("systemctl", "reboot")
		l.awaitBoot(2)
		Expect(syscall.Kill(pid, 0)).To(MatchError(syscall.ESRCH))
	})

	It("does not go down while a shutdown hangs, unless it is forced", func() {
		l := newLab()
		l.HangShutdown(true)
		l.run("systemctl", "reboot")
		Eventually(func() int { return l.events.count(host.PowerRequested) }).Should(Equal(1))
		Consistently(l.Boots, "200ms").Should(HaveLen(1))
		l.run("systemctl", "reboot", "--force")
		l.awaitBoot(2)
		Expect(l.said()).NotTo(ContainElement("terminated"))
	})

	It("restarts the agent when it exits", func() {
		l := newLab()
		pid := l.AgentPID()
		Expect(l.KillAgent(GinkgoT().Context())).To(Succeed())
		Eventually(l.AgentPID).ShouldNot(Or(Equal(pid), BeZero()))
		Expect(syscall.Kill(pid, syscall.SIGKILL)).To(MatchError(syscall.ESRCH))
		Expect(syscall.Kill(l.AgentPID(), syscall.SIGKILL)).To(Succeed())
		Eventually(func() int { return l.events.count(host.AgentStarted) }).Should(Equal(3))
		Expect(l.Boots()).To(HaveLen(1))
	})

	It("does not restart an agent that was stopped, until it is started", func() {
		l := newLab()
		Expect(l.StopAgent(GinkgoT().Context())).To(Succeed())
		Eventually(l.AgentPID).Should(BeZero())
		Consistently(l.AgentPID, "1s").Should(BeZero())
		Expect(l.StartAgent(GinkgoT().Context())).To(Succeed())
		Eventually(l.AgentPID).ShouldNot(BeZero())
	})

	DescribeTable("falls back from a bad image, in every boot", func(how string, bad host.Outcome) {
		l := newLab()
		l.upgrade(l.push("v2", image.OS{Boot: how}))
		Expect(l.Upgrades()).To(Equal(1))
		l.run("systemctl", "reboot")
		b := l.awaitBoot(3)
		Expect(l.outcomes()).To(Equal([]string{"active up", "active " + string(bad), "passive1 up"}))
		Expect(b.Version).To(Equal("v1"))
		Expect(l.Booted()).To(HaveField("Mode", "passive"))
		Expect(l.Path("/run/elemental/passive_mode")).To(BeAnExistingFile())
		f, err := l.State()
		Expect(err).NotTo(HaveOccurred())
		Expect(f.State.Snapshots[2].Active).To(BeTrue(), "the trap: it names the bad one")
		l.run("systemctl", "reboot")
		l.awaitBoot(5)
		Expect(l.outcomes()[3:]).To(Equal([]string{"active " + string(bad), "passive1 up"}))
	},
		Entry("unhealthy", source.BootUnhealthy, host.Unhealthy),
		Entry("a kernel that panics", source.BootNone, host.Panicked),
	)

	It("loses power and gets it back", func() {
		l := newLab()
		pid := l.AgentPID()
		Expect(l.PowerOff(GinkgoT().Context())).To(Succeed())
		Expect(syscall.Kill(pid, 0)).To(MatchError(syscall.ESRCH))
		Expect(l.said()).NotTo(ContainElement("terminated"))
		Expect(l.Booted()).To(BeZero())
		Consistently(l.Boots, "100ms").Should(HaveLen(1))
		Expect(l.PowerOn(GinkgoT().Context())).To(Succeed())
		l.awaitBoot(2)
	})

	It("ends when it is stopped, and can be recreated", func() {
		l := newLab()
		pid := l.AgentPID()
		Expect(l.Stop()).To(Succeed())
		Expect(syscall.Kill(pid, 0)).To(MatchError(syscall.ESRCH))
		Expect(l.PowerOn(GinkgoT().Context())).To(MatchError(host.ErrStopped))
		Expect(l.State()).To(HaveField("State.Snapshots", HaveLen(1)))
	})

	It("takes as long to boot as its image says", func() {
		l := newLab()
		l.upgrade(l.push("v2", image.OS{BootSeconds: 0.5}))
		l.run("systemctl", "reboot")
		b := l.awaitBoot(2)
		Expect(b.Up.Sub(b.Started)).To(BeNumerically(">=", 500*time.Millisecond))
	})

	It("powers off when there is nothing to boot", func() {
		l := newLab()
		Expect(os.RemoveAll(l.Disk().State(disk.SnapshotsDir))).To(Succeed())
		Expect(os.RemoveAll(l.Disk().Recovery())).To(Succeed())
		l.run("systemctl", "reboot")
		Eventually(l.events.types).Should(ContainElement(host.NothingToBoot))
	})
})
