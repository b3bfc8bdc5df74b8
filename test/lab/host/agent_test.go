// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package host_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/agent/apitest"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/wire"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/double/disk"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/double/grub"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/double/source"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/host"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/image"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/specs"
)

// patience is how long the real agent may take for a whole upgrade, fallback included.
const patience = specs.Patience

var _ = Describe("The real agent on a host", Ordered, func() {
	var binary string

	BeforeAll(func() {
		binary = filepath.Join(GinkgoT().TempDir(), "elemental-agent")
		build := exec.CommandContext(GinkgoT().Context(), "go", "build", "-trimpath", "-buildvcs=false", "-o", binary,
			"github.com/rancher-sandbox/cluster-api-provider-elemental/cmd/elemental-agent")
		out, err := build.CombinedOutput()
		Expect(err).NotTo(HaveOccurred(), string(out))
	})

	var api *apitest.API
	var l *lab

	BeforeEach(func() {
		api = apitest.New()
		DeferCleanup(api.Close)
		api.SetConfig(`{"elemental": {"reset": {"resetPersistent": true}}}`)
		l = startLab(func(o *host.Options) {
			o.Agent = binary
			o.Config = agentConfig(api)
		})
		AddReportEntry("root", l.Path())
		DeferCleanup(func() {
			if CurrentSpecReport().Failed() {
				GinkgoWriter.Println(read(l.Path("/lab/agent.log")), read(l.Path("/lab/console.log")))
			}
		})
		Eventually(api.Hosts).WithTimeout(patience).Should(ConsistOf("host-1"))
	})

	phase := func() string {
		if u := api.Last("host-1").Upgrade; u != nil {
			return u.Phase + " " + u.Message
		}
		return ""
	}

	desire := func(attempt string, img image.Image) {
		version, err := json.Marshal(wire.OSVersion{ImageURI: img.URI()})
		Expect(err).NotTo(HaveOccurred())
		api.Desire("host-1", wire.Desired{Approved: true, Upgrade: &wire.Upgrade{
			Attempt: attempt, Apply: true, Prefetch: "Download",
			OSVersionManagement: map[string]json.RawMessage{"osVersion": version},
		}})
	}

	It("reports what is booted", func() {
		f, err := l.State()
		Expect(err).NotTo(HaveOccurred())
		Eventually(func() wire.OS { return api.Last("host-1").OS }).WithTimeout(patience).Should(And(
			HaveField("Digest", f.State.Snapshots[1].Digest),
			HaveField("BootMode", "active"),
			HaveField("BootID", l.Boots()[0].ID),
			HaveField("Version", "v1"),
		))
	})

	It("upgrades, with one call of the CLI", func() {
		img := l.push("v2", image.OS{})
		desire("a1", img)
		Eventually(phase).WithTimeout(patience).Should(HavePrefix("Succeeded"))
		Expect(l.outcomes()).To(Equal([]string{"active up", "active up"}))
		Expect(l.BootedSnapshot()).To(Equal(2))
		Expect(l.Upgrades()).To(Equal(1))
		Expect(api.Last("host-1").OS.Digest).To(Equal(img.Digest))
	})

	DescribeTable("falls back and stays there", func(boot string) {
		desire("a1", l.push("v2", image.OS{Boot: boot}))
		Eventually(phase).WithTimeout(patience).Should(HavePrefix("RolledBack"))
		Expect(l.BootedSnapshot()).To(Equal(1))
		n := len(l.Boots())
		l.run("systemctl", "reboot")
		l.awaitAgent(n + 1)
		Expect(l.Boots()[n].Entry).To(Equal("active"), "the former one is the default")
		Expect(l.BootedSnapshot()).To(Equal(1))
		Expect(l.Upgrades()).To(Equal(1))

		desire("a2", l.push("v3", image.OS{}))
		Eventually(phase).WithTimeout(patience).Should(HavePrefix("Succeeded"))
		Expect(l.Booted()).To(HaveField("Mode", grub.Active))
		Expect(l.Boots()[len(l.Boots())-1].Version).To(Equal("v3"))
		l.run("systemctl", "reboot")
		l.awaitAgent(n + 3)
		Expect(l.Boots()[n+2].Version).To(Equal("v3"))
	},
		Entry("from an unhealthy image", source.BootUnhealthy),
		Entry("from one that does not boot", source.BootNone),
	)

	It("cleans up after a killed upgrade and tries again", func() {
		desire("a1", l.push("v2", image.OS{UpgradeKilled: true}))
		Eventually(phase).WithTimeout(patience).Should(HavePrefix("Succeeded"))
		Expect(l.Upgrades()).To(Equal(2))
		env, err := l.GrubOEMEnv()
		Expect(err).NotTo(HaveOccurred())
		Expect(env.Get(grub.PassiveSnapshots)).To(Equal("1"))
		Expect(l.Disk().Mounts()).To(Equal(disk.BootMounts()))
	})

	It("resumes an upgrade after it was killed in the middle of it", func() {
		desire("a1", l.push("v2", image.OS{UpgradeSeconds: 2}))
		Eventually(l.Upgrades).WithTimeout(patience).Should(Equal(1))
		Expect(l.KillAgent(GinkgoT().Context())).To(Succeed())
		Eventually(phase).WithTimeout(patience).Should(HavePrefix("Succeeded"))
		Expect(l.BootedSnapshot()).To(Equal(2))
	})

	It("reports a bootstrap that has failed, and bootstraps in the next boot", func() {
		l.kubelet.Refuse(errors.New("forbidden"))
		text, _, _ := strings.Cut(string(bootstrapFile(joinConfiguration)), "\nstages:")
		api.SetBootstrap(&wire.Bootstrap{Format: "cloud-config", Config: text})
		api.Desire("host-1", wire.Desired{Approved: true, Bootstrap: true})
		Eventually(func() string { return api.Last("host-1").Message }).WithTimeout(patience).
			Should(Equal("the bootstrap failed: see the journal of elemental-setup-network.service on the host, and delete the Machine to start over"))
		Expect(api.Last("host-1").Bootstrapped).To(BeFalse())

		l.kubelet.Refuse(nil)
		l.run("systemctl", "reboot")
		Eventually(func() bool { return api.Last("host-1").Bootstrapped }).WithTimeout(patience).Should(BeTrue())
		Expect(api.Last("host-1").Message).To(BeEmpty())
	})

	It("bootstraps, and resets itself", func() {
		Expect(l.kubelet.Log()).To(BeEmpty())
		text := string(bootstrapFile(joinConfiguration))
		text, _, _ = strings.Cut(text, "\nstages:")
		api.SetBootstrap(&wire.Bootstrap{Format: "cloud-config", Config: text})
		api.Desire("host-1", wire.Desired{Approved: true, Bootstrap: true})
		Eventually(func() bool { return api.Last("host-1").Bootstrapped }).WithTimeout(patience).Should(BeTrue())
		Expect(l.kubelet.Log()).To(Equal([]string{"register host-1", "up v1"}))
		Expect(l.Boots()).To(HaveLen(2))

		api.Desire("host-1", wire.Desired{Approved: true, Reset: true})
		Eventually(l.outcomes).WithTimeout(patience).Should(Equal([]string{"active up", "active up", "recovery up", "active up"}))
		Eventually(api.Hosts).WithTimeout(patience).Should(ConsistOf("host-1"))
		Eventually(func() bool { return api.Last("host-1").Bootstrapped }).WithTimeout(patience).Should(BeFalse())
		f, err := l.State()
		Expect(err).NotTo(HaveOccurred())
		Expect(f.State.Snapshots).To(HaveKeyWithValue(1, HaveField("FromAction", "reset")))
	})
})

func agentConfig(api *apitest.API) []byte {
	config, err := json.Marshal(map[string]any{
		"registration": map[string]any{"uri": api.URI(), "caCert": api.CACert(), "token": apitest.Token},
		"agent":        map[string]any{"hostname": map[string]any{"useExisting": true}, "reconciliation": "1s", "stableWindow": "1s", "debug": true},
	})
	Expect(err).NotTo(HaveOccurred())
	return config
}

// awaitAgent waits until boot n is up and runs the agent.
func (l *lab) awaitAgent(n int) {
	GinkgoHelper()
	Eventually(func(g Gomega) {
		boots := l.Boots()
		g.Expect(len(boots)).To(BeNumerically(">=", n))
		g.Expect(boots[n-1].Outcome).To(Equal(host.Up), fmt.Sprint(boots))
		g.Expect(l.AgentPID()).NotTo(BeZero())
	}).WithTimeout(patience).Should(Succeed())
}
