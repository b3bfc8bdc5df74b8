// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package units_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/agent/assess"
)

const (
	daemon  = "elemental-agent.service"
	install = "elemental-agent-install.service"
	reset   = "elemental-agent-reset.service"
)

// directives of a unit: the words of all lines of each.
func directives(unit string) map[string][]string {
	GinkgoHelper()
	content, err := os.ReadFile(unit)
	Expect(err).NotTo(HaveOccurred())
	found := map[string][]string{}
	for line := range strings.Lines(string(content)) {
		name, value, isDirective := strings.Cut(strings.TrimSpace(line), "=")
		if isDirective && !strings.HasPrefix(line, "#") {
			found[name] = append(found[name], strings.Fields(value)...)
		}
	}
	return found
}

var _ = Describe("The units", func() {
	It("are the ones that are tested", func() {
		Expect(filepath.Glob("*.service")).To(ConsistOf(daemon, install, reset))
	})

	DescribeTable("say",
		func(unit, directive string, words ...string) {
			Expect(directives(unit)[directive]).To(ContainElements(words))
		},
		Entry("where the daemon runs", daemon, "ConditionPathExists", "!/run/elemental/live_mode", "!/run/elemental/recovery_mode"),
		Entry("what it needs first", daemon, "After", "network-online.target", "elemental-setup-boot.service"),
		Entry("that it is watched", daemon, "WatchdogSec", "5min"),
		Entry("that it may say that it lives", daemon, "NotifyAccess", "main"),
		Entry("that it is always started again", daemon, "Restart", "always"),
		Entry("as often as it takes", daemon, "StartLimitIntervalSec", "0"),
		Entry("that its children end with it", daemon, "KillMode", "control-group"),
		Entry("where the OS is installed", install, "ConditionPathExists", "/run/elemental/live_mode"),
		Entry("what that needs first", install, "After", "network-online.target", "elemental-setup-boot.service"),
		Entry("that the installer's children end with it", install, "KillMode", "control-group"),
		Entry("where the host is reset", reset, "ConditionPathExists", "/run/elemental/recovery_mode", "/oem/elemental/agent/reset-order.json"),
		Entry("that the toolkit's stage does so first", reset, "After", "elemental-setup-boot.service", "elemental-setup-network.service"),
		Entry("that the children of the reset end with it", reset, "KillMode", "control-group"),
	)

	DescribeTable("leave the CLI what it needs to unpack an OS",
		func(unit string) {
			for directive := range directives(unit) {
				Expect(directive).NotTo(Or(HavePrefix("Private"), HavePrefix("Protect"), HavePrefix("Restrict"), HavePrefix("SystemCall"),
					HavePrefix("ReadOnly"), HavePrefix("Inaccessible"), HavePrefix("Capability"), Equal("UMask"), Equal("NoNewPrivileges"),
					Equal("DynamicUser"), Equal("User"), Equal("DevicePolicy")))
			}
		},
		Entry("daemon", daemon), Entry("install", install), Entry("reset", reset),
	)

	It("have no order between agent and kubelet, nor wait for the stage that starts one", func() {
		order := directives(daemon)
		others := append([]string{"elemental-setup-network.service"}, assess.KubeletUnits...)
		for _, directive := range []string{"After", "Before", "Requires", "BindsTo", "PartOf"} {
			for _, other := range others {
				Expect(order[directive]).NotTo(ContainElement(other), directive)
			}
		}
	})

	It("are understood by systemd", func(ctx SpecContext) {
		if _, err := exec.LookPath("systemd-analyze"); err != nil {
			Skip("systemd-analyze is not installed")
		}
		// systemd-analyze wants the programs to be there.
		folder := GinkgoT().TempDir()
		args := []string{"verify", "--man=no"}
		for _, unit := range []string{daemon, install, reset} {
			content, err := os.ReadFile(unit)
			Expect(err).NotTo(HaveOccurred())
			path := filepath.Join(folder, unit)
			runnable := strings.ReplaceAll(string(content), "=/usr/sbin/elemental-agent", "=/bin/true")
			Expect(os.WriteFile(path, []byte(runnable), 0o600)).To(Succeed())
			args = append(args, path)
		}
		said, err := exec.CommandContext(ctx, "systemd-analyze", args...).CombinedOutput()
		Expect(err).NotTo(HaveOccurred(), string(said))
		Expect(string(said)).NotTo(ContainSubstring(folder))
	})
})
