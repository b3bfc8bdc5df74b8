// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package agent_test

import (
	"context"
	"crypto/tls"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/onsi/gomega/gbytes"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/agent"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/agent/apitest"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/agent/config"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/agent/system"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/pki"
)

var _ = Describe("An API whose certificate authority is replaced", func() {
	var (
		api  *apitest.API
		host *worker
		log  *gbytes.Buffer
		// ahead is how far the clocks of the host and the API are.
		ahead atomic.Int64
	)
	BeforeEach(func() {
		api = apitest.New()
		DeferCleanup(api.Close)
		ahead.Store(0)
		api.SetClock(func() time.Time { return time.Now().Add(time.Duration(ahead.Load())) })
		host, log = newWorker(api), gbytes.NewBuffer()
		host.config.Agent.Reconciliation = config.Duration(10 * time.Millisecond)
	})
	path := func() string { return filepath.Join(host.root, "config.yaml") }
	// start starts the agent with the configuration that there is, and returns what stops it.
	start := func() func() {
		GinkgoHelper()
		settings, err := config.Load(path())
		Expect(err).NotTo(HaveOccurred())
		settings.Agent.Reconciliation = host.config.Agent.Reconciliation
		machine := system.NewHost(host.root)
		machine.Clock = shifted{Clock: machine.Clock, by: &ahead}
		created, err := agent.New(agent.Options{
			Config: settings, ConfigPath: path(), Host: machine, Wait: 50 * time.Millisecond,
			Log: slog.New(slog.NewTextHandler(log, nil)),
		})
		Expect(err).NotTo(HaveOccurred())
		ctx, cancel := context.WithCancel(context.Background())
		ended := make(chan error, 1)
		go func() { ended <- created.Run(ctx) }()
		return func() {
			cancel()
			Eventually(ended).WithTimeout(patience).Should(Receive(MatchError(context.Canceled)))
		}
	}
	known := func() string {
		settings, err := config.Load(path())
		Expect(err).NotTo(HaveOccurred())
		return settings.Registration.CACert
	}
	// issued is an authority, PEM-encoded, and a certificate of it for the API.
	issued := func() (string, tls.Certificate) {
		GinkgoHelper()
		authority, err := pki.NewAuthority("another")
		Expect(err).NotTo(HaveOccurred())
		pair, err := authority.Server("api", "127.0.0.1")
		Expect(err).NotTo(HaveOccurred())
		certificate, err := tls.X509KeyPair(pair.CertPEM, pair.KeyPEM)
		Expect(err).NotTo(HaveOccurred())
		return string(authority.CertPEM), certificate
	}
	heard := func() {
		GinkgoHelper()
		before := len(api.Requests())
		Eventually(func() []string { return api.Requests()[before:] }, patience).Should(ContainElement("GET hosts/host-1/desired"))
	}

	It("is known by both, and by the new one alone when the former has gone, however often the agent is started", func() {
		host.config.Agent.OSPlugin = config.PluginElemental
		Expect(config.Save(path(), host.config)).To(Succeed())
		Expect(os.WriteFile(path(), append([]byte("later: 1\n"), must(os.ReadFile(path()))...), 0o644)).To(Succeed())
		former := api.CACert()
		next, certificate := issued()
		stop := start()
		Eventually(api.Hosts, patience).ShouldNot(BeEmpty())
		Expect(known()).To(Equal(former))
		stop()

		api.HandOut(former + next)
		stop = start()
		Eventually(known, patience).Should(Equal(former + next))
		Expect(must(os.Stat(path())).Mode().Perm()).To(BeEquivalentTo(0o600))
		Expect(must(os.ReadFile(path()))).To(ContainSubstring("later: 1"), "what this agent does not know")

		By("having it put back at each boot")
		file := filepath.Join(host.root, "oem", "set-file-config-yaml.yaml")
		Expect(must(os.Stat(file)).Mode().Perm()).To(BeEquivalentTo(0o600))
		Expect(lasting(host.root, filepath.Base(file))).To(And(ContainSubstring(strings.Split(next, "\n")[1]), ContainSubstring(strings.Split(former, "\n")[1])))
		By("without a restart")
		api.Present(certificate)
		heard()
		stop()
		By("after one")
		api.HandOut(next)
		stop = start()
		Eventually(known, patience).Should(Equal(next))
		heard()
		stop()
	})

	DescribeTable("is known as before when it hands out", func(bundle func() string, reason string) {
		api.HandOut(bundle())
		stop := start()
		DeferCleanup(stop)
		Eventually(log, patience).Should(gbytes.Say("Keeping the trusted certificate authorities of the Elemental API.*" + reason))
		Expect(known()).To(Equal(api.CACert()))
		heard()
	},
		Entry("no certificate", func() string { return "new" }, "they contain no PEM-encoded certificate"),
		Entry("only the next one, too early", func() string { next, _ := issued(); return next },
			"none of them has signed the API's present certificate: keep its authority in ca.crt beside the new one"),
	)

	It("tells what to do about a host that was off meanwhile, which its operator then does", func() {
		next, certificate := issued()
		stop := start()
		Eventually(api.Hosts, patience).ShouldNot(BeEmpty())
		stop()
		api.HandOut(next)
		api.Present(certificate)

		stop = start()
		Eventually(log, patience).Should(gbytes.Say("signed by an authority that registration.caCert of the agent's configuration does not have: " +
			"if the API has another one by now, copy status.caCert of the ElementalRegistration, and the token"))
		Expect(known()).To(Equal(api.CACert()), "nobody is trusted whom it did not know")
		stop()

		Expect(os.WriteFile(path(), must(config.WithCACert(path(), next)), 0o600)).To(Succeed())
		stop = start()
		heard()
		stop()
	})

	It("is asked twice a day, however often there is silence", func() {
		api.HandOut(api.CACert())
		asked := func() int {
			return strings.Count(strings.Join(api.Requests(), "\n")+"\n", "GET hosts/host-1/authorities\n")
		}
		stop := start()
		DeferCleanup(stop)
		Eventually(asked, patience).Should(Equal(1))
		for range 5 {
			heard()
		}
		Expect(asked()).To(Equal(1))
		ahead.Store(int64(12 * time.Hour))
		Eventually(asked, patience).Should(Equal(2))
	})
})

// shifted is a clock that is ahead of another.
type shifted struct {
	system.Clock
	by *atomic.Int64
}

func (s shifted) Now() time.Time { return s.Clock.Now().Add(time.Duration(s.by.Load())) }

func must[T any](value T, err error) T {
	GinkgoHelper()
	Expect(err).NotTo(HaveOccurred())
	return value
}
