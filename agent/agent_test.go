// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package agent_test

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/agent"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/agent/apitest"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/agent/client"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/agent/config"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/agent/osplugin"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/agent/osplugin/dummy"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/agent/system"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/wire"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/specs"
)

// patience is long, since a machine may be busy; what never comes is as wrong after a minute as after a second.
const patience = specs.Patience

// worker is an agent on a dummy OS that is started again after each of its reboots.
type worker struct {
	api    *apitest.API
	root   string
	config config.Config
	cancel context.CancelFunc
	ended  chan error
}

func newWorker(api *apitest.API) *worker {
	root := GinkgoT().TempDir()
	Expect(os.MkdirAll(filepath.Join(root, "etc"), 0o755)).To(Succeed())
	Expect(os.WriteFile(filepath.Join(root, "etc", "hostname"), []byte("host-1\n"), 0o600)).To(Succeed())
	path := filepath.Join(root, "config.yaml")
	Expect(config.Save(path, config.Config{
		Registration: config.Registration{URI: api.URI(), CACert: api.CACert(), Token: apitest.Token},
		Agent: config.Agent{
			Hostname: config.Hostname{UseExisting: true}, OSPlugin: config.PluginDummy,
			StableWindow: config.Duration(100 * time.Millisecond), AssessmentTimeout: config.Duration(config.DefaultAssessmentTimeout),
		},
	})).To(Succeed())
	settings, err := config.Load(path)
	Expect(err).NotTo(HaveOccurred())
	return &worker{api: api, root: root, config: settings}
}

func (w *worker) agent() *agent.Agent {
	host := system.NewHost(w.root)
	host.Addresses = func() ([]string, error) { return []string{"192.0.2.7"}, nil }
	created, err := agent.New(agent.Options{
		Config: w.config, ConfigPath: filepath.Join(w.root, "config.yaml"), Host: host,
		Log: slog.New(slog.NewTextHandler(GinkgoWriter, nil)),
	})
	Expect(err).NotTo(HaveOccurred())
	return created
}

func (w *worker) start() {
	ctx, cancel := context.WithCancel(context.Background())
	w.cancel, w.ended = cancel, make(chan error, 1)
	go func() {
		defer GinkgoRecover()
		for {
			err := w.agent().Run(ctx)
			if !errors.Is(err, osplugin.ErrRestart) {
				w.ended <- err
				return
			}
		}
	}()
}

func (w *worker) stop() {
	w.cancel()
	Eventually(w.ended).WithTimeout(patience).Should(Receive(MatchError(context.Canceled)))
}

func upgradeTo(attempt, uri string, apply bool) *wire.Upgrade {
	version, err := json.Marshal(wire.OSVersion{ImageURI: uri})
	Expect(err).NotTo(HaveOccurred())
	return &wire.Upgrade{Attempt: attempt, Apply: apply, OSVersionManagement: map[string]json.RawMessage{"osVersion": version}}
}

var _ = Describe("An agent that cannot tell what is booted", func() {
	It("says so, and looks again", func() {
		api := apitest.New()
		DeferCleanup(api.Close)
		host := newWorker(api)
		host.config.Agent.OSPlugin = config.PluginElemental
		write := func(path, content string) {
			GinkgoHelper()
			Expect(os.MkdirAll(filepath.Dir(filepath.Join(host.root, path)), 0o755)).To(Succeed())
			Expect(os.WriteFile(filepath.Join(host.root, path), []byte(content), 0o600)).To(Succeed())
		}
		write("run/elemental/active_mode", "1")
		write("proc/sys/kernel/random/boot_id", "boot-1")
		host.start()
		DeferCleanup(func() { host.stop() })
		last := func() wire.Report { return api.Last("host-1") }
		Eventually(last, patience).Should(And(HaveField("OS", wire.OS{BootMode: "active", BootID: "boot-1"}),
			HaveField("Message", ContainSubstring("finding the booted snapshot: /proc/self/mountinfo has no root file system"))))
		api.Desire("host-1", wire.Desired{Approved: true})

		write("sys/dev/block/7:0/loop/backing_file", "/.snapshots/2/snapshot.img")
		write("proc/self/mountinfo", "1 1 7:0 / / ro - ext2 /dev/loop0 ro\n")
		Eventually(last, patience).Should(And(HaveField("OS.Snapshot", BeEquivalentTo(2)), HaveField("Message", BeEmpty())))
	})
})

var _ = Describe("An agent and its API", func() {
	var (
		api  *apitest.API
		host *worker
	)
	last := func() wire.Report { return api.Last("host-1") }
	attempt := func() *wire.Attempt { return last().Upgrade }

	BeforeEach(func() {
		api = apitest.New()
		DeferCleanup(api.Close)
		host = newWorker(api)
		host.start()
		DeferCleanup(func() { host.stop() })
		Eventually(last, patience).Should(HaveField("Phase", wire.HostFinalizingRegistration))
	})

	It("registers, reports what it is once, and is silent", func() {
		Expect(api.Hosts()).To(Equal([]string{"host-1"}))
		Expect(last().Addresses).To(Equal([]wire.Address{{Type: "Hostname", Address: "host-1"}, {Type: "InternalIP", Address: "192.0.2.7"}}))
		Expect(last().OS.Digest).To(Equal(dummy.Digest("dummy:initial")))
		Eventually(api.Held, patience).Should(Equal(1))
		Expect(api.Reports("host-1")).To(HaveLen(1))
		before := len(api.Requests())
		Consistently(func() int { return len(api.Requests()) }, 2*time.Second).Should(Equal(before))
	})

	It("is upgraded before it is bootstrapped, and each only once", func() {
		api.SetBootstrap(&wire.Bootstrap{Format: "cloud-config", Config: "#cloud-config\n"})
		api.Desire("host-1", wire.Desired{Approved: true, Bootstrap: true, Upgrade: upgradeTo("a1", "oci://r/os:2", true)})
		Eventually(last, patience).Should(And(HaveField("Bootstrapped", true), HaveField("OS.Digest", dummy.Digest("oci://r/os:2"))))
		Expect(attempt()).To(And(HaveField("Phase", wire.PhaseSucceeded), HaveField("Attempt", "a1")))
		Expect(last().OS.ImageURI).To(Equal("oci://r/os:2"))
		boot := last().OS.BootID

		host.stop()
		host.start()
		Eventually(api.Held, patience).Should(Equal(1))
		Consistently(func() string { return last().OS.BootID }, time.Second).Should(Equal(boot))
		Expect(attempt().Phase).To(Equal(wire.PhaseSucceeded))
	})

	It("prepares at once and applies when triggered", func() {
		api.Desire("host-1", wire.Desired{Approved: true, Upgrade: upgradeTo("a1", "oci://r/os:2", false)})
		Eventually(attempt, patience).Should(HaveField("Phase", wire.PhaseFetched))
		Expect(attempt().Digest).To(Equal(dummy.Digest("oci://r/os:2")))
		Expect(last().OS.Snapshot).To(BeEquivalentTo(1))
		api.Desire("host-1", wire.Desired{Approved: true, Upgrade: upgradeTo("a1", "oci://r/os:2", true)})
		Eventually(attempt, patience).Should(HaveField("Phase", wire.PhaseSucceeded))
		Expect(last().OS.Snapshot).To(BeEquivalentTo(2))
	})

	It("goes back by itself from an image that boots but is bad", func() {
		api.Desire("host-1", wire.Desired{Approved: true, Upgrade: upgradeTo("a1", "oci://r/unhealthy:2", true)})
		Eventually(attempt, patience).Should(HaveField("Phase", wire.PhaseRolledBack))
		Expect(attempt().Healthy).To(BeTrue())
		Expect(attempt().Message).To(And(ContainSubstring("booted snapshot 2"), ContainSubstring("calls itself unhealthy")))
		Expect(last().OS.Snapshot).To(BeEquivalentTo(1))
	})

	It("notices a fallback", func() {
		api.Desire("host-1", wire.Desired{Approved: true, Upgrade: upgradeTo("a1", "oci://r/unbootable:2", true)})
		Eventually(attempt, patience).Should(HaveField("Phase", wire.PhaseRolledBack))
		Expect(attempt().Message).To(HavePrefix("booted snapshot 1 in passive mode, wanted 2 (sha256:"))
	})

	It("does nothing to itself without approval", func() {
		api.Desire("host-1", wire.Desired{Bootstrap: true, Upgrade: upgradeTo("a1", "oci://r/os:2", true)})
		Consistently(attempt, time.Second).Should(BeNil())
		Expect(last().OS.Snapshot).To(BeEquivalentTo(1))
	})

	It("resets itself and comes back as a new host", func() {
		api.SetBootstrap(&wire.Bootstrap{Format: "cloud-config", Config: "#cloud-config\n"})
		api.Desire("host-1", wire.Desired{Approved: true, Bootstrap: true})
		Eventually(last, patience).Should(HaveField("Bootstrapped", true))
		api.Desire("host-1", wire.Desired{Approved: true, Reset: true})
		Eventually(api.Requests, patience).Should(ContainElements("GET hosts/host-1/reset", "DELETE hosts/host-1", "POST hosts/host-1/wiped"))
		Eventually(last, patience).Should(And(HaveField("Phase", wire.HostFinalizingRegistration), HaveField("Bootstrapped", false)))
	})

	It("is wiped although the registration's token is not good any more", func() {
		api.Rotate()
		api.Desire("host-1", wire.Desired{Approved: true, Reset: true})
		Eventually(api.Requests, patience).Should(ContainElement("POST hosts/host-1/wiped"))
		Expect(api.Hosts()).To(BeEmpty(), "it has said who it was, and that it is not that any more")
		Eventually(host.ended, patience).Should(Receive(MatchError(client.ErrUnauthorized)), "it cannot register")
		host.start()
	})

	It("registers again when the API has lost it", func() {
		api.Forget("host-1")
		Eventually(last, patience).Should(HaveField("Phase", wire.HostFinalizingRegistration))
	})

	It("sends the whole report again after the API was away", func() {
		Eventually(api.Held, patience).Should(Equal(1))
		reports := len(api.Reports("host-1"))
		// One refusal may be lost with the connection that it was written to: net/http then asks again by itself.
		api.Fail(503, 503)
		api.Drop()
		Eventually(func() int { return len(api.Reports("host-1")) }, patience).Should(BeNumerically(">", reports))
	})
})
