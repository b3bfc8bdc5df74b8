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
	"github.com/rancher-sandbox/cluster-api-provider-elemental/agent/client"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/agent/config"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/agent/system"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/agent/system/systemtest"
)

var _ = Describe("A host that runs from live media", func() {
	var (
		api    *apitest.API
		w      *worker
		runner *systemtest.Runner
	)

	BeforeEach(func() {
		api = apitest.New()
		DeferCleanup(api.Close)
		api.SetConfig(`{"cloudConfig":{"users":[]},"elemental":{"install":{"device":"/dev/vda","systemUri":"oci:os:v1"}}}`)
		w, runner = newWorker(api), &systemtest.Runner{}
		w.config.Agent.OSPlugin, w.config.Agent.PostInstall.Reboot = config.PluginElemental, true
		live := filepath.Join(w.root, "run", "elemental", "live_mode")
		Expect(os.MkdirAll(filepath.Dir(live), 0o755)).To(Succeed())
		Expect(os.WriteFile(live, nil, 0o600)).To(Succeed())
	})

	// call calls the agent once, until it ends or reboots the host.
	call := func(do func(*agent.Agent, context.Context) error) error {
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
		return do(created, ctx)
	}
	registerAndInstall := func(a *agent.Agent, ctx context.Context) error { return a.Register(ctx, true) }
	key := func() string {
		content, err := os.ReadFile(filepath.Join(w.root, w.config.Agent.WorkDir, "private.key"))
		Expect(err).NotTo(HaveOccurred())
		return string(content)
	}
	expectTakenAlong := func(command system.Command) {
		env := strings.Join(command.Env, "\n")
		Expect(env).To(And(ContainSubstring("ELEMENTAL_INSTALL_TARGET=/dev/vda"), ContainSubstring("ELEMENTAL_INSTALL_SYSTEM=oci:os:v1")))
		for _, file := range []string{
			"set-hostname.yaml", "set-file-hostname.yaml", "set-file-private-key.yaml", "set-file-config-yaml.yaml", "set-cloud-config.yaml",
		} {
			Expect(env).To(ContainSubstring("/oem/" + file))
		}
	}

	It("takes along who it is to what it installs, registers and reboots; cut off, it does so again, with the same name", func() {
		runner.Fail("elemental install", 1, "no disk")
		Expect(call(registerAndInstall)).To(MatchError(ContainSubstring("no disk")))
		Expect(api.Hosts()).To(BeEmpty(), "who it is would be lost with the power")
		former := key()

		runner.Say("elemental install", "")
		Expect(call(registerAndInstall)).To(MatchError(context.Canceled))
		Expect(api.Hosts()).To(Equal([]string{"host-1"}))
		Expect(key()).To(Equal(former))
		Expect(runner.Calls()).To(HaveExactElements("elemental install", "elemental install", "systemctl reboot"))
		expectTakenAlong(runner.Commands()[1])
	})

	It("is the host that has registered when it is installed by a command of its own", func() {
		Expect(call(func(a *agent.Agent, ctx context.Context) error { return a.Register(ctx, false) })).To(Succeed())
		Expect(api.Hosts()).To(Equal([]string{"host-1"}))
		former := key()

		runner.Say("elemental install", "")
		Expect(call(func(a *agent.Agent, ctx context.Context) error { return a.Install(ctx) })).To(MatchError(context.Canceled))
		expectTakenAlong(runner.Commands()[0])
		Expect(key()).To(Equal(former))
	})

	It("leaves its disk alone when its token is refused", func() {
		w.config.Registration.Token = "of another registration"
		Expect(call(registerAndInstall)).To(MatchError(client.ErrUnauthorized))
		Expect(runner.Calls()).To(BeEmpty())
	})
})
