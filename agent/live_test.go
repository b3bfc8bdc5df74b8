// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package agent_test

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/agent"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/agent/apitest"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/agent/config"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/agent/system"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/agent/system/systemtest"
)

var _ = Describe("A host that runs from live media", func() {
	It("registers, takes along who it is to what it installs, and reboots; cut off, it does so again, with the same name", func() {
		api := apitest.New()
		DeferCleanup(api.Close)
		api.SetConfig(`{"cloudConfig":{"users":[]},"elemental":{"install":{"device":"/dev/vda","systemUri":"oci:os:v1"}}}`)
		w := newWorker(api)
		w.config.Agent.OSPlugin, w.config.Agent.PostInstall.Reboot = config.PluginElemental, true
		live := filepath.Join(w.root, "run", "elemental", "live_mode")
		Expect(os.MkdirAll(filepath.Dir(live), 0o755)).To(Succeed())
		Expect(os.WriteFile(live, nil, 0o600)).To(Succeed())

		runner := &systemtest.Runner{}
		register := func() error {
			ctx, cancel := context.WithCancel(context.Background())
			defer cancel()
			runner.On("systemctl reboot", func(system.Command) system.Result {
				cancel() // the host goes down
				return system.Result{}
			})
			host := system.NewHost(w.root)
			host.Runner = runner
			created, err := agent.New(agent.Options{
				Config: w.config, ConfigPath: filepath.Join(w.root, "config.yaml"), Host: host,
				Log: slog.New(slog.NewTextHandler(GinkgoWriter, nil)),
			})
			Expect(err).NotTo(HaveOccurred())
			return created.Register(ctx, true)
		}

		runner.Fail("elemental install", 1, "no disk")
		Expect(register()).To(MatchError(ContainSubstring("no disk")))
		Expect(api.Hosts()).To(Equal([]string{"host-1"}))
		key := api.Created("host-1").PubKey

		runner.Say("elemental install", "")
		Expect(register()).To(MatchError(context.Canceled))
		Expect(api.Hosts()).To(Equal([]string{"host-1"}))
		Expect(api.Created("host-1").PubKey).To(Equal(key))
		Expect(runner.Calls()).To(HaveExactElements("elemental install", "elemental install", "systemctl reboot"))
		installed := strings.Join(runner.Commands()[1].Env, "\n")
		Expect(installed).To(And(ContainSubstring("ELEMENTAL_INSTALL_TARGET=/dev/vda"), ContainSubstring("ELEMENTAL_INSTALL_SYSTEM=oci:os:v1")))
		for _, file := range []string{"set-hostname.yaml", "set-private-key.yaml", "set-config-yaml.yaml", "set-cloud-config.yaml"} {
			Expect(installed).To(ContainSubstring("/oem/" + file))
		}
	})
})
