// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package agent_test

import (
	"encoding/json"
	"math/rand/v2"
	"os"
	"path/filepath"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/agent/assess"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/agent/upgrade"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/wire"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/double/disk"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/double/source"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/host"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/image"
)

var _ = Describe("An upgrade", func() {
	var m *machine

	BeforeEach(func() { m = newMachine() })

	It("writes once, reboots once, and is judged by what is booted", func() {
		v2 := m.push("v2", image.OS{})
		m.upgrade("a1", v2)
		Expect(m.ends("a1")).To(And(HaveField("Phase", wire.PhaseSucceeded), HaveField("Digest", v2.PlatformDigest)))

		Expect(m.last().OS).To(And(
			HaveField("Snapshot", BeEquivalentTo(2)), HaveField("BootMode", "active"), HaveField("Version", "v2"),
			HaveField("Digest", v2.PlatformDigest), HaveField("ImageURI", v2.URI()), HaveField("FreeBytes", BeNumerically(">", 0))))
		Expect(m.finished("elemental", "upgrade")).To(Equal(1))
		Expect(m.Boots()).To(HaveLen(2))
		Expect(m.grub("saved_entry")).To(BeEmpty())
		Expect(os.ReadDir(m.Path("/var/lib/elemental/agent/images"))).To(BeEmpty())
	})

	It("needs no registry once the image was fetched", func() {
		v2 := m.push("v2", image.OS{})
		m.desire(wire.Desired{Upgrade: request("a1", v2.URI(), false)})
		Eventually(m.attempt).Should(HaveField("Phase", wire.PhaseFetched))
		Expect(m.registry.Close()).To(Succeed())
		m.upgrade("a1", v2)
		Expect(m.ends("a1").Phase).To(Equal(wire.PhaseSucceeded))
	})

	It("pins the image for this platform", func() {
		v2 := m.push("v2", image.OS{MultiArch: true})
		m.upgrade("a1", v2)
		Expect(m.ends("a1")).To(And(HaveField("Phase", wire.PhaseSucceeded), HaveField("Digest", v2.PlatformDigest)))
		Expect(v2.PlatformDigest).NotTo(Equal(v2.Digest))
	})

	It("succeeds without a reboot when the host runs the image already", func() {
		v2 := m.push("v2", image.OS{})
		m.upgrade("a1", v2)
		Expect(m.ends("a1").Phase).To(Equal(wire.PhaseSucceeded))
		m.upgrade("a2", v2)
		Expect(m.ends("a2")).To(And(HaveField("Phase", wire.PhaseSucceeded), HaveField("Message", ContainSubstring("already"))))
		Expect(m.Boots()).To(HaveLen(2))
	})

	It("is refused by a host that was rebooted since it was triggered, and is carried out with a trigger for the present boot", func() {
		triggered := request("a1", m.push("v2", image.OS{}).URI(), true)
		former := m.last().OS
		triggered.ApplyIn = &wire.Boot{BootID: former.BootID, Digest: former.Digest}
		Expect(m.PowerOff(GinkgoT().Context())).To(Succeed())
		Expect(m.PowerOn(GinkgoT().Context())).To(Succeed())
		Eventually(m.last, patience).Should(HaveField("OS.BootID", Equal(lastBoot(m, 2))))

		m.desire(wire.Desired{Upgrade: triggered})
		Eventually(m.attempt, patience).Should(And(HaveField("Phase", wire.PhaseFetched),
			HaveField("Message", HavePrefix("not applied: the trigger is for boot "+former.BootID))))
		Expect(m.finished("elemental", "upgrade")).To(BeZero())
		Expect(m.Boots()).To(HaveLen(2))

		renewed := *triggered
		renewed.ApplyIn = &wire.Boot{BootID: m.last().OS.BootID, Digest: m.last().OS.Digest}
		m.desire(wire.Desired{Upgrade: &renewed})
		Expect(m.ends("a1").Phase).To(Equal(wire.PhaseSucceeded))
		Expect(m.Boots()).To(HaveLen(3))
	})

	DescribeTable("falls back, stays on the good snapshot and reports it",
		func(boot string) {
			m.upgrade("a1", m.push("v2", image.OS{Boot: boot}))
			end := m.ends("a1")
			Expect(end).To(And(HaveField("Phase", wire.PhaseRolledBack), HaveField("Healthy", true)))
			Expect(end.Message).To(HavePrefix("booted snapshot 1 in passive mode, wanted 2 (sha256:"))
			// One good default, and recovery.
			Expect(m.grub("saved_entry")).To(BeEmpty())
			Expect(m.passive()).To(BeEmpty())
			Expect(m.Disk().Active()).To(Equal(1))
			Expect(m.Disk().Snapshots()).To(Equal([]int{1}))

			// An unrelated reboot must not try the bad snapshot again.
			boots := len(m.Boots())
			Expect(m.PowerOff(GinkgoT().Context())).To(Succeed())
			Expect(m.PowerOn(GinkgoT().Context())).To(Succeed())
			Eventually(m.last).Should(HaveField("OS.BootID", Equal(lastBoot(m, boots+1))))
			Expect(m.last().OS).To(And(HaveField("Snapshot", BeEquivalentTo(1)), HaveField("BootMode", "active")))
			Expect(m.attempt().Phase).To(Equal(wire.PhaseRolledBack))

			// Fix-forward.
			m.upgrade("a2", m.push("v3", image.OS{}))
			Expect(m.ends("a2").Phase).To(Equal(wire.PhaseSucceeded))
			Expect(m.last().OS).To(And(HaveField("Version", "v3"), HaveField("BootMode", "active")))
			Expect(m.grub("saved_entry")).To(BeEmpty())
		},
		Entry("from an unhealthy image", source.BootUnhealthy),
		Entry("from one that does not boot", source.BootNone),
	)

	It("falls back from an image that hangs during boot, once the power is cut", func() {
		m.upgrade("a1", m.push("v2", image.OS{BootSeconds: (24 * time.Hour).Seconds()}))
		Eventually(m.Boots, patience).Should(HaveLen(2))
		Expect(m.Boots()[1]).To(And(HaveField("Snapshot", 2), HaveField("Outcome", host.Booting)))
		Expect(m.PowerOff(GinkgoT().Context())).To(Succeed())
		Expect(m.PowerOn(GinkgoT().Context())).To(Succeed())
		Expect(m.ends("a1")).To(And(HaveField("Phase", wire.PhaseRolledBack), HaveField("Healthy", true)))
		Expect(m.Disk().Active()).To(Equal(1))
		Expect(m.Disk().Snapshots()).To(Equal([]int{1}))
		Expect(m.Boots()).To(HaveLen(3))
	})

	It("rolls back by itself when a required check fails", func() {
		check := m.Path(assess.RequiredDir, "50-version")
		Expect(os.MkdirAll(filepath.Dir(check), 0o755)).To(Succeed())
		script := "#!/bin/sh\nwhile read -r line; do case $line in *v2*) echo 'v2 is not wanted' >&2; exit 1;; esac; done <" +
			m.Path("/etc/os-release") + "\n"
		Expect(os.WriteFile(check, []byte(script), 0o755)).To(Succeed())
		m.upgrade("a1", m.push("v2", image.OS{}))
		end := m.ends("a1")
		Expect(end).To(And(HaveField("Phase", wire.PhaseRolledBack), HaveField("Healthy", true)))
		Expect(end.Message).To(And(ContainSubstring("booted snapshot 2"), ContainSubstring("50-version failed: v2 is not wanted")))
		Expect(end.Checks).To(ContainElements(
			And(HaveField("Name", "required.d/50-version"), HaveField("Verdict", wire.CheckFailed), HaveField("ExitCode", HaveValue(BeEquivalentTo(1))),
				HaveField("Output", "v2 is not wanted")),
			And(HaveField("Name", "stable"), HaveField("Verdict", wire.CheckPassed), HaveField("Since", Not(BeZero()))),
			And(HaveField("Name", "former/required.d/50-version"), HaveField("Verdict", wire.CheckPassed), HaveField("Output", "")),
		))
		Expect(m.last().OS.Snapshot).To(BeEquivalentTo(1))
		Expect(m.Boots()).To(HaveLen(3))
	})

	It("rolls back from an image whose kubelet is healthy repeatedly, but never for long", func() {
		m.api.SetBootstrap(&wire.Bootstrap{Format: "cloud-config", Config: kubeadmData})
		m.desire(wire.Desired{Bootstrap: true})
		Eventually(m.last, patience).Should(HaveField("Bootstrapped", true))
		m.assessFor(5 * time.Second)
		boots := len(m.Boots())
		m.upgrade("a1", m.push("v2", image.OS{Labels: map[string]string{source.LabelKubeletFlaps: "yes"}}))
		end := m.ends("a1")
		Expect(end).To(And(HaveField("Phase", wire.PhaseRolledBack), HaveField("Healthy", true)))
		Expect(end.Checks).To(ContainElement(And(HaveField("Name", "stable"), HaveField("Verdict", wire.CheckTimedOut))))
		Expect(m.last().OS.Snapshot).To(BeEquivalentTo(1))
		Expect(m.Boots()).To(HaveLen(boots + 2))
	})

	It("keeps an image whose kubelet answers no less than that of the OS before", func() {
		moved := map[string]string{source.LabelKubeletHealthz: "moved"}
		m = newMachine(func(m *machine) { m.first = image.OS{Labels: moved} })
		m.api.SetBootstrap(&wire.Bootstrap{Format: "cloud-config", Config: kubeadmData})
		m.desire(wire.Desired{Bootstrap: true})
		Eventually(m.last, patience).Should(HaveField("Bootstrapped", true))
		m.assessFor(5 * time.Second)
		m.upgrade("a1", m.push("v2", image.OS{Labels: moved}))
		Eventually(m.marker, 2*patience).Should(HaveField("UnitsBefore.Failing", HaveLen(1))) // it is looked at for 50 seconds
		end := m.ends("a1")
		const warning = "failed before the upgrade, too: the kubelet does not answer at http://127.0.0.1:1/healthz"
		Expect(end).To(And(HaveField("Phase", wire.PhaseSucceeded), HaveField("Message", "warning: "+warning)))
		Expect(end.Checks).To(ContainElements(
			And(HaveField("Name", "kubelet"), HaveField("Verdict", wire.CheckFailedBefore), HaveField("Output", warning)),
			And(HaveField("Name", "stable"), HaveField("Verdict", wire.CheckPassed))))
		Expect(m.last().OS.Snapshot).To(BeEquivalentTo(2))
	})

	It("rolls back from an image without a default route, which passes the assessment of the toolkit", func() {
		m.assessFor(5 * time.Second)
		m.upgrade("a1", m.push("v2", image.OS{Boot: source.BootUnrouted}))
		end := m.ends("a1")
		Expect(end).To(And(HaveField("Phase", wire.PhaseRolledBack), HaveField("Healthy", true)))
		Expect(end.Message).To(ContainSubstring("the host has no default route, and had one before"))
		Expect(end.Checks).To(ContainElement(And(HaveField("Name", "network"), HaveField("Verdict", wire.CheckTimedOut))))
		Expect(m.last().OS.Snapshot).To(BeEquivalentTo(1))
		Expect(m.Boots()).To(HaveExactElements(HaveField("Snapshot", 1), And(HaveField("Snapshot", 2), HaveField("Outcome", host.Up)), HaveField("Snapshot", 1)))
	})

	DescribeTable("survives a CLI that is killed, without leaving half a snapshot",
		func(moment string) {
			m.upgrade("a1", m.push("v2", image.OS{Labels: map[string]string{source.LabelUpgradeKilled: moment}}))
			Expect(m.ends("a1").Phase).To(Equal(wire.PhaseSucceeded))
			Expect(m.passive()).To(Equal("1"))
			Expect(m.finished("elemental", "upgrade")).To(Equal(1))
			Expect(m.Boots()).To(HaveLen(2))
		},
		Entry("halfway through the image", source.Once),
		Entry("in a hook in the new tree", source.OnceInHook),
		Entry("while it copies the tree into the snapshot", source.OncePacking),
	)

	It("writes the image again, from the OS that ran, when the power is lost before the new snapshot is recorded", func() {
		to := m.push("v2", image.OS{Labels: map[string]string{source.LabelUpgradeKilled: source.OnceUnrecorded}})
		m.upgrade("a1", to)
		Expect(m.ends("a1")).To(And(HaveField("Phase", wire.PhaseSucceeded), HaveField("Digest", to.PlatformDigest)))
		Expect(m.last().OS).To(And(HaveField("Snapshot", BeEquivalentTo(2)), HaveField("BootMode", "active")))
		Expect(m.Disk().Snapshots()).To(Equal([]int{1, 2}), "the former OS is still there")
		Expect(m.passive()).To(Equal("1"))
		Expect(m.Boots()).To(HaveExactElements(HaveField("Snapshot", 1), HaveField("Snapshot", 1), HaveField("Snapshot", 2)), "what is not known to be whole is not booted")
	})

	It("succeeds although a stage of a cloud-init file fails, and reports which one", func() {
		to := m.push("v2", image.OS{Labels: map[string]string{source.LabelFailingStage: "post-upgrade"}})
		m.upgrade("a1", to)
		Expect(m.ends("a1")).To(And(HaveField("Phase", wire.PhaseSucceeded), HaveField("Digest", to.PlatformDigest),
			HaveField("Message", "warning: cloud-init stage post-upgrade failed: no cache: failed to run exit 3: exit status 3")))
	})

	It("leaves the host as before when the CLI fails after it has made the new snapshot the default", func() {
		to := m.push("v2", image.OS{Labels: map[string]string{source.LabelKernel: source.NoKernel}})
		version, err := json.Marshal(wire.OSVersion{ImageURI: to.URI(), UpgradeRecovery: true})
		Expect(err).NotTo(HaveOccurred())
		m.desire(wire.Desired{Upgrade: &wire.Upgrade{Attempt: "a1", Apply: true, OSVersionManagement: map[string]json.RawMessage{"osVersion": version}}})
		Expect(m.ends("a1")).To(And(HaveField("Phase", wire.PhaseFailed), HaveField("Message", ContainSubstring("no Kernel file found"))))
		Expect(m.Boots()).To(HaveLen(1))
		Expect(m.Disk().Active()).To(Equal(1))
		Expect(m.Disk().Snapshots()).To(Equal([]int{1}))
		Expect(m.Disk().Loops()).To(HaveLen(1))
		Expect(m.Disk().Mounts()).To(Equal(disk.BootMounts()))
	})

	DescribeTable("fails before anything is changed",
		func(break_ func() string, message string) {
			m.desire(wire.Desired{Upgrade: request("a1", break_(), true)})
			end := m.ends("a1")
			Expect(end.Phase).To(Equal(wire.PhaseFailed))
			Expect(end.Message).To(MatchRegexp(message))
			Expect(m.finished("elemental", "upgrade")).To(BeZero())
			Expect(m.Boots()).To(HaveLen(1))
		},
		Entry("when the image does not exist", func() string {
			return "oci://" + m.push("v2", image.OS{}).Ref + "-missing"
		}, `^image .*-missing does not exist in registry`),
		Entry("when the registry speaks no TLS", func() string {
			plain, err := image.Start(image.Options{PlainHTTP: true})
			Expect(err).NotTo(HaveOccurred())
			DeferCleanup(plain.Close)
			pushed, err := plain.Push(GinkgoT().Context(), "elemental/os", "v2", image.OS{Bytes: 1000})
			Expect(err).NotTo(HaveOccurred())
			return pushed.URI()
		}, `does not speak TLS`),
		Entry("when there is not enough space", func() string {
			Expect(m.Disk().SetStateBytes(300 << 10)).To(Succeed())
			return m.push("v2", image.OS{}).URI()
		}, `^not enough space on the state partition: image sha256:[0-9a-f]{64} needs \d+ MiB \(5 times its compressed size\), 0 MiB are free: use a smaller image, or install the host with a larger state partition$`),
		Entry("when it is not a registry", func() string { return "dir:///" }, `use oci://`),
	)

	DescribeTable("is resumed when the agent is killed",
		func(phase string) {
			v2, held := m.push("v2", image.OS{}), m.hold(phase)
			m.upgrade("a1", v2)
			Eventually(held.Came(phase), patience).Should(BeClosed())
			Expect(m.KillAgent(GinkgoT().Context())).To(Succeed())
			held.Release(phase)
			Expect(m.ends("a1")).To(And(HaveField("Phase", wire.PhaseSucceeded), HaveField("Digest", v2.PlatformDigest)))
			Expect(m.finished("elemental", "upgrade")).To(Equal(1))
			Expect(m.Boots()).To(HaveLen(2))
			Expect(m.passive()).To(Equal("1"))
		},
		Entry("while it fetches the image", wire.PhaseFetching),
		Entry("while the image is written", wire.PhaseApplying),
		Entry("before the reboot", wire.PhaseRebooting),
		Entry("while it assesses", wire.PhaseAssessing),
	)

	It("is not repeated when the agent is killed after the end", func() {
		m.upgrade("a1", m.push("v2", image.OS{}))
		Expect(m.ends("a1").Phase).To(Equal(wire.PhaseSucceeded))
		Expect(m.KillAgent(GinkgoT().Context())).To(Succeed())
		before := len(m.api.Reports(m.name()))
		Eventually(m.api.Reports, patience).WithArguments(m.name()).Should(
			Satisfy(func(reports []wire.Report) bool { return len(reports) > before }), "the next agent reports")
		Expect(m.last().Upgrade).To(HaveField("Phase", wire.PhaseSucceeded))
		Expect(m.finished("elemental", "upgrade")).To(Equal(1))
		Expect(m.Boots()).To(HaveLen(2))
	})

	It("survives a power cut while the image is written", func() {
		held := m.hold(wire.PhaseApplying)
		m.upgrade("a1", m.push("v2", image.OS{}))
		Eventually(held.Came(wire.PhaseApplying), patience).Should(BeClosed())
		Expect(m.Path("/run/initramfs/elemental-state/.snapshots/2")).To(BeADirectory())
		Expect(m.PowerOff(GinkgoT().Context())).To(Succeed())
		held.Release(wire.PhaseApplying)
		Expect(m.PowerOn(GinkgoT().Context())).To(Succeed())
		Expect(m.ends("a1").Phase).To(Equal(wire.PhaseSucceeded))
		Expect(m.passive()).To(Equal("1"))
		Expect(m.finished("elemental", "upgrade")).To(Equal(1))
	})

	It("succeeds however often the agent is killed and the power is cut", func() {
		random := rand.New(rand.NewPCG(uint64(GinkgoRandomSeed()), 0))
		m.upgrade("a1", m.push("v2", image.OS{UpgradeSeconds: 0.3}))
		for range 10 {
			pause := time.Duration(random.IntN(300)) * time.Millisecond
			Consistently(m.Boots, pause).ShouldNot(BeEmpty()) // a random delay
			if random.IntN(4) == 0 {
				Expect(m.PowerOff(GinkgoT().Context())).To(Succeed())
				Expect(m.PowerOn(GinkgoT().Context())).To(Succeed())
				continue
			}
			Expect(m.KillAgent(GinkgoT().Context())).To(Succeed())
		}
		Expect(m.ends("a1").Phase).To(Equal(wire.PhaseSucceeded))
		Expect(m.last().OS.Version).To(Equal("v2"))
		Expect(m.finished("elemental", "upgrade")).To(Equal(1))
		Expect(m.passive()).To(Equal("1"))
	})

	It("is dropped when it is withdrawn before it is applied", func() {
		v2 := m.push("v2", image.OS{})
		m.desire(wire.Desired{Upgrade: request("a1", v2.URI(), false)})
		Eventually(m.attempt).Should(HaveField("Phase", wire.PhaseFetched))
		m.desire(wire.Desired{})
		Eventually(m.last).Should(HaveField("Upgrade", BeNil()))
		Expect(m.marker()).To(Equal(upgrade.Marker{}))
		Expect(os.ReadDir(m.Path("/var/lib/elemental/agent/images"))).To(BeEmpty())
	})

	It("is completed when it is withdrawn too late", func() {
		held := m.hold(wire.PhaseApplying)
		m.upgrade("a1", m.push("v2", image.OS{}))
		Eventually(held.Came(wire.PhaseApplying), patience).Should(BeClosed())
		m.desire(wire.Desired{})
		held.Release(wire.PhaseApplying)
		Eventually(m.last).Should(HaveField("OS.Version", "v2"))
	})
})

func lastBoot(m *machine, n int) string {
	GinkgoHelper()
	var id string
	Eventually(func() string {
		if boots := m.Boots(); len(boots) == n {
			id = boots[n-1].ID
		}
		return id
	}, 10*time.Second).ShouldNot(BeEmpty())
	return id
}
