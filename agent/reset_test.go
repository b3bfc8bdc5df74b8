// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package agent_test

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"os"
	"path"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/agent"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/agent/apitest"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/agent/client"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/agent/config"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/agent/identity"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/agent/image"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/agent/osplugin"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/agent/osplugin/dummy"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/agent/phase"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/agent/system"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/wire"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/specs"
)

// mortal is an agent on a dummy OS that is killed once, at a moment in its reset, and then started again.
type mortal struct {
	*worker
	next http.RoundTripper
	// moment is "before" or "after" and what is done then; empty until it is armed.
	lock   sync.Mutex
	moment string
	kill   context.CancelFunc
	dead   bool

	// lost requests get no answer, refused ones this status.
	lost    string
	refused map[string]int
	wipes   atomic.Int32
	images  agent.Images
	options atomic.Value
	// failing resets of the OS fail.
	failing atomic.Bool
}

var errDead = errors.New("the agent was killed")

func (m *mortal) arm(moment string) {
	m.lock.Lock()
	defer m.lock.Unlock()
	m.moment = moment
}

func (m *mortal) armed() bool {
	m.lock.Lock()
	defer m.lock.Unlock()
	return m.moment != ""
}

// meet is called before and after all that the agent does outside of itself.
func (m *mortal) meet(moment string) error {
	m.lock.Lock()
	defer m.lock.Unlock()
	if m.moment != "" && m.moment == moment {
		m.moment, m.dead = "", true
		m.kill()
	}
	if m.dead {
		return errDead
	}
	return nil
}

func (m *mortal) around(what string, action func() error) error {
	if err := m.meet("before " + what); err != nil {
		return err
	}
	return errors.Join(action(), m.meet("after "+what))
}

// RoundTrip is a request of the agent.
func (m *mortal) RoundTrip(request *http.Request) (response *http.Response, err error) {
	name := request.Method + " " + path.Base(request.URL.Path)
	if name == m.lost {
		return nil, errors.New("the network is down")
	}
	if status := m.refused[name]; status != 0 {
		return &http.Response{StatusCode: status, Body: http.NoBody, Request: request}, nil
	}
	err = m.around(name, func() error {
		response, err = m.next.RoundTrip(request)
		return err
	})
	if err != nil && response != nil {
		return nil, errors.Join(err, response.Body.Close())
	}
	return response, err
}

// mortalOS is the OS of a mortal agent.
type mortalOS struct {
	*dummy.Plugin
	*mortal
}

func (o mortalOS) TriggerReset(ctx context.Context) error {
	return o.around("TriggerReset", func() error { return o.Plugin.TriggerReset(ctx) })
}

func (o mortalOS) Reset(ctx context.Context, options json.RawMessage) error {
	return o.around("Reset", func() error {
		o.wipes.Add(1)
		o.options.Store(string(options))
		if o.failing.Load() {
			return errors.New("the disk is broken")
		}
		return o.Plugin.Reset(ctx, options)
	})
}

// noRegistry is where images come from that never answers.
type noRegistry struct{ dummy.Images }

func (noRegistry) Resolve(context.Context, string, string) (image.Image, error) {
	return image.Image{}, errors.New("the registry cannot be reached")
}

func newMortal(api *apitest.API) *mortal {
	m := &mortal{worker: newWorker(api), refused: map[string]int{}}
	m.config.Agent.Reconciliation = config.Duration(time.Millisecond)
	transport, err := client.NewTransport(m.config)
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(transport.CloseIdleConnections)
	m.next = transport
	return m
}

func (m *mortal) workDir(name ...string) string {
	return filepath.Join(append([]string{m.root, m.config.Agent.WorkDir}, name...)...)
}

// life is one run of the agent, until it ends, reboots or is killed.
func (m *mortal) life(ctx context.Context, do func(*agent.Agent, context.Context) error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	m.lock.Lock()
	m.kill, m.dead = cancel, false
	m.lock.Unlock()
	created, err := agent.New(agent.Options{
		Config: m.config, ConfigPath: filepath.Join(m.root, "config.yaml"), Host: system.NewHost(m.root),
		Log: slog.New(slog.NewTextHandler(GinkgoWriter, nil)), Transport: m,
		Images: m.images, Plugin: mortalOS{dummy.New(m.workDir()), m},
	})
	if err != nil {
		return err
	}
	return do(created, ctx)
}

// start runs the agent, and again whatever it ends with, until the spec ends.
func (m *mortal) start() {
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for ctx.Err() == nil {
			_ = m.life(ctx, func(a *agent.Agent, ctx context.Context) error { return a.Run(ctx) })
		}
	}()
	DeferCleanup(func() {
		cancel()
		Eventually(ended, patience).Should(BeClosed())
	})
}

var _ = Describe("A host that resets itself", func() {
	var (
		api    *apitest.API
		host   *mortal
		former string
	)
	last := func() wire.Report { return api.Last("host-1") }
	kept := func() []string {
		found, err := filepath.Glob(host.workDir("reset", "*"))
		Expect(err).NotTo(HaveOccurred())
		return found
	}

	BeforeEach(func() {
		api = apitest.New()
		DeferCleanup(api.Close)
		api.SetConfig(`{"elemental":{"reset":{"resetOem":true}}}`)
		host = newMortal(api)
	})
	begin := func() {
		GinkgoHelper()
		host.start()
		Eventually(last, patience).Should(HaveField("Phase", wire.HostFinalizingRegistration))
		former = api.Created("host-1").PubKey
	}

	DescribeTable("is wiped and becomes one other host, wherever it is killed",
		func(moment string) {
			begin()
			host.arm(moment)
			api.Desire("host-1", wire.Desired{Approved: true, Reset: true})
			Eventually(func() string { return api.Created("host-1").PubKey }, patience).ShouldNot(BeElementOf("", former))
			Eventually(last, patience).Should(HaveField("Phase", wire.HostFinalizingRegistration))
			Expect(host.armed()).To(BeFalse(), "it was killed")
			Expect(host.wipes.Load()).To(BeNumerically(">=", 1))
			Expect(host.options.Load()).To(MatchJSON(`{"resetOem":true}`))
			Expect(api.Requests()).To(ContainElement("POST hosts/host-1/wiped"))
			Expect(api.Hosts()).To(Equal([]string{"host-1"}))
			Expect(kept()).To(BeEmpty())
			Expect(host.workDir("reset.json")).NotTo(BeAnExistingFile())
		},
		Entry(nil, "before GET reset"), Entry(nil, "after GET reset"),
		Entry(nil, "before TriggerReset"), Entry(nil, "after TriggerReset"),
		Entry(nil, "before DELETE host-1"), Entry(nil, "after DELETE host-1"),
		Entry(nil, "before Reset"), Entry(nil, "after Reset"),
		Entry(nil, "before POST wiped"), Entry(nil, "after POST wiped"),
		Entry(nil, "before GET hosts"), Entry(nil, "after GET hosts"),
		Entry(nil, "before POST hosts"), Entry(nil, "after POST hosts"),
	)

	It("keeps what it needs of the API for itself alone, and goes by it when the API has forgotten it", func() {
		host.refused["DELETE host-1"] = http.StatusUnauthorized
		host.refused["POST wiped"] = http.StatusUnauthorized
		host.refused["GET hosts"] = http.StatusUnauthorized
		begin()
		api.Desire("host-1", wire.Desired{Approved: true, Reset: true})
		Eventually(host.wipes.Load, patience).Should(BeEquivalentTo(1))
		Expect(host.options.Load()).To(MatchJSON(`{"resetOem":true}`))
		api.Forget("host-1")
		Eventually(func() string { return api.Created("host-1").PubKey }, patience).ShouldNot(BeElementOf("", former))
	})

	It("is wiped by what it has when the API does not say how", func() {
		host.refused["GET reset"] = http.StatusInternalServerError
		begin()
		api.Desire("host-1", wire.Desired{Approved: true, Reset: true})
		Eventually(host.wipes.Load, patience).Should(BeEquivalentTo(1))
		Expect(host.options.Load()).To(BeEmpty())
	})

	DescribeTable("is wiped with the recovery system's own image when it cannot have those that it is to be reset to",
		func(images agent.Images, options string, verification *wire.ImageVerification) {
			host.images = images
			api.SetConfig(`{"elemental":{"reset":` + options + `}}`)
			api.SetImageVerification(verification)
			begin()
			api.Desire("host-1", wire.Desired{Approved: true, Reset: true})
			Eventually(func() string { return api.Created("host-1").PubKey }, patience).ShouldNot(BeElementOf("", former))
			Expect(host.wipes.Load()).To(BeEquivalentTo(1))
			Expect(host.options.Load()).To(MatchJSON(`{"resetOem":true}`))
		},
		Entry("because one does not exist", dummy.Images{}, `{"resetOem":true,"systemUri":"oci:os:missing"}`, nil),
		Entry("because one is not signed", dummy.Images{}, `{"resetOem":true,"recoverySystemUri":"oci:os:v1"}`, &wire.ImageVerification{}),
		Entry("because an ISO has no signature", dummy.Images{}, `{"resetOem":true,"iso":"https://iso.test/os.iso"}`, &wire.ImageVerification{}),
		Entry("because the registry is gone for good", noRegistry{}, `{"resetOem":true,"systemUri":"oci:os:v1"}`, nil),
	)

	It("is wiped when nobody hears that it will be", func() {
		host.lost = "DELETE host-1"
		begin()
		api.Desire("host-1", wire.Desired{Approved: true, Reset: true})
		Eventually(func() string { return api.Created("host-1").PubKey }, patience).ShouldNot(BeElementOf("", former))
		Expect(host.wipes.Load()).To(BeEquivalentTo(1))
	})

	It("that cannot be wiped stays in recovery, reports why and tries again only when that is ordered again", func() {
		tries := host.workDir("reset", "recovery", "reset-tries.json")
		host.failing.Store(true)
		begin()
		api.Desire("host-1", wire.Desired{Approved: true, Reset: true})
		held := And(HaveField("Phase", wire.HostResetting), HaveField("OS.BootMode", osplugin.ModeRecovery), HaveField("Message",
			HavePrefix("the OS could not be reset in 5 tries, the last of which failed: the disk is broken. The host stays in its recovery system")))
		Eventually(last, patience).Should(held)

		By("being started again")
		count := len(api.Reports("host-1"))
		host.lock.Lock()
		host.kill()
		host.lock.Unlock()
		Eventually(func() []wire.Report { return api.Reports("host-1")[count:] }, patience).Should(ContainElement(held))
		Expect(host.wipes.Load()).To(BeEquivalentTo(5))
		Expect(kept()).To(HaveLen(4))

		By("being ordered again")
		host.failing.Store(false)
		api.Desire("host-1", wire.Desired{Approved: true})
		Eventually(os.ReadFile, patience).WithArguments(tries).Should(ContainSubstring(`"withdrawn": true`))
		Expect(host.wipes.Load()).To(BeEquivalentTo(5))
		api.Desire("host-1", wire.Desired{Approved: true, Reset: true})
		Eventually(func() string { return api.Created("host-1").PubKey }, patience).ShouldNot(BeElementOf("", former))
		Expect(host.wipes.Load()).To(BeEquivalentTo(6))
		Eventually(kept, patience).Should(BeEmpty())
	})

	It("leaves out the images that it is to be reset to when it fails with them again and again", func() {
		api.SetConfig(`{"elemental":{"reset":{"resetOem":true,"systemUri":"dir:/somewhere"}}}`)
		host.failing.Store(true)
		begin()
		api.Desire("host-1", wire.Desired{Approved: true, Reset: true})
		Eventually(host.wipes.Load, patience).Should(BeEquivalentTo(5))
		Expect(host.options.Load()).To(MatchJSON(`{"resetOem":true}`))
	})

	It("tries again when a person says so at its console", func(ctx SpecContext) {
		host.failing.Store(true)
		begin()
		api.Desire("host-1", wire.Desired{Approved: true, Reset: true})
		Eventually(last, patience).Should(HaveField("Phase", wire.HostResetting))
		byHand := newMortal(api)
		byHand.root = host.root
		Expect(byHand.life(ctx, func(a *agent.Agent, ctx context.Context) error { return a.ResetAgain(ctx) })).To(Succeed())
		Expect(byHand.wipes.Load()).To(BeEquivalentTo(1))
	}, SpecTimeout(specs.Patience))

	It("is not wiped by hand while it serves a machine", func(ctx SpecContext) {
		host.refused["DELETE host-1"] = http.StatusConflict
		begin()
		byHand := newMortal(api)
		byHand.root, byHand.refused = host.root, host.refused
		ctxReset, cancel := context.WithCancel(ctx)
		DeferCleanup(cancel)
		go func() {
			_ = byHand.life(ctxReset, func(a *agent.Agent, ctx context.Context) error { return a.Reset(ctx) })
		}()
		Consistently(byHand.wipes.Load, time.Second).Should(BeZero())
	})
})

var _ = Describe("What is kept of a reset", func() {
	It("is for the host alone, and means nothing without its key", func() {
		workDir, dir := GinkgoT().TempDir(), filepath.Join(GinkgoT().TempDir(), "kept")
		_, err := identity.Load(system.NewHost(workDir), workDir, config.Hostname{Prefix: "m-"})
		Expect(err).NotTo(HaveOccurred())
		Expect(phase.KeepReset(dir, workDir, phase.KeptReset{Reset: wire.Reset{Options: json.RawMessage(`{"a":1}`)}})).To(Succeed())
		for _, name := range []string{identity.KeyFile, identity.NameFile, phase.KeptResetFile} {
			found, err := os.Stat(filepath.Join(dir, name))
			Expect(err).NotTo(HaveOccurred())
			Expect(found.Mode().Perm()).To(BeEquivalentTo(0o600), name)
		}
		kept, found, err := phase.ReadKeptReset(dir)
		Expect(err).NotTo(HaveOccurred())
		Expect(found).To(BeTrue())
		Expect(kept.Options).To(MatchJSON(`{"a":1}`))

		By("an agent of a former release removing the key when it has reset the host")
		Expect(identity.Remove(dir)).To(Succeed())
		_, found, err = phase.ReadKeptReset(dir)
		Expect(err).NotTo(HaveOccurred())
		Expect(found).To(BeFalse())
	})
})

var _ osplugin.Plugin = mortalOS{}
