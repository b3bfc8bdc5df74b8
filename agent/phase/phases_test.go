// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package phase_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"sync/atomic"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/agent/client"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/agent/config"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/agent/identity"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/agent/osplugin"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/agent/osplugin/dummy"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/agent/phase"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/agent/report"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/agent/retry"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/agent/system"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/agent/system/systemtest"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/agent/upgrade"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/wire"
)

// os_ is a dummy OS whose bootstrap and mode a test decides.
type os_ struct {
	*dummy.Plugin
	mode      string
	state     *osplugin.BootstrapState
	bootstrap error
	placed    int
	triggered int
	// failure is the unit that has failed while it applied the bootstrap.
	failure atomic.Pointer[string]
}

func (o *os_) Facts(ctx context.Context) (osplugin.Facts, error) {
	facts, err := o.Plugin.Facts(ctx)
	if o.mode != "" {
		facts.Mode = o.mode
	}
	return facts, err
}

func (o *os_) BootstrapFailure(context.Context) (string, error) {
	if unit := o.failure.Load(); unit != nil {
		return *unit, nil
	}
	return "", nil
}

func (o *os_) BootstrapState(ctx context.Context) (osplugin.BootstrapState, error) {
	if o.state != nil {
		return *o.state, nil
	}
	return o.Plugin.BootstrapState(ctx)
}

func (o *os_) Bootstrap(ctx context.Context, data wire.Bootstrap) error {
	o.placed++
	return errors.Join(o.bootstrap, o.Plugin.Bootstrap(ctx, data))
}

func (o *os_) TriggerReset(context.Context) error { o.triggered++; return nil }

func (o *os_) AbandonReset(context.Context) error { return nil }

// fakeAPI accepts reports and has bootstrap data, or not.
type fakeAPI struct{ err error }

func (f fakeAPI) Bootstrap(context.Context) (wire.Bootstrap, error) {
	return wire.Bootstrap{Format: "cloud-config"}, f.err
}

func (f fakeAPI) ResetOptions(context.Context) (wire.Reset, error) { return wire.Reset{}, f.err }

func (fakeAPI) Report(context.Context, wire.Report) error { return nil }

type rig struct {
	dir    string
	plugin *os_
	board  *report.Board
	phases *phase.Phases
	api    fakeAPI
	// volatileDir is why what the agent keeps is lost with the next reboot.
	volatileDir string
}

func (r *rig) volatile(string) string { return r.volatileDir }

func newRig() *rig {
	r := &rig{dir: GinkgoT().TempDir()}
	r.plugin = &os_{Plugin: dummy.New(r.dir)}
	Expect(r.plugin.Init(context.Background())).To(Succeed())
	_, err := identity.Load(system.NewHost(r.dir), r.dir, config.Hostname{Prefix: "m-"})
	Expect(err).NotTo(HaveOccurred())
	r.start()
	return r
}

// start is a start of the agent.
func (r *rig) start() {
	GinkgoHelper()
	log := slog.New(slog.NewTextHandler(GinkgoWriter, nil))
	clock := systemtest.NewClock()
	r.board = report.New(r.api, clock, retry.API, log)
	ctx, cancel := context.WithCancel(context.Background())
	DeferCleanup(cancel)
	go func() { _ = r.board.Run(ctx) }()
	bootstrap, err := phase.ReadBootstrapMark(r.dir)
	Expect(err).NotTo(HaveOccurred())
	machine, err := upgrade.New(upgrade.Options{
		Plugin: r.plugin, Images: dummy.Images{}, Clock: clock, Reporter: r.board, Log: log, WorkDir: r.dir, Bootstrapped: bootstrap.Done,
		Volatile: r.volatile,
	})
	Expect(err).NotTo(HaveOccurred())
	r.phases = phase.New(phase.Options{
		Plugin: r.plugin, API: r.api, Board: r.board, Log: log, WorkDir: r.dir, Name: "host-1", Machine: machine, Bootstrap: bootstrap,
		Volatile: r.volatile,
		Host: &system.Host{Root: r.dir, Clock: clock, Addresses: func() ([]string, error) {
			var many []string
			for i := range 12 {
				many = append(many, fmt.Sprintf("192.0.2.%d", i))
			}
			return many, nil
		}},
	})
}

func (r *rig) act(desired wire.Desired) error {
	return r.phases.Act(context.Background(), desired, make(chan struct{}), make(chan struct{}))
}

// live acts, and starts the agent again after each reboot.
func (r *rig) live(desired wire.Desired) {
	GinkgoHelper()
	for range 8 {
		err := r.act(desired)
		if err == nil {
			return
		}
		Expect(err).To(MatchError(osplugin.ErrRestart))
		r.start()
	}
	Fail("the host does not come to rest")
}

func (r *rig) bootID() string {
	facts, err := r.plugin.Facts(context.Background())
	Expect(err).NotTo(HaveOccurred())
	return facts.BootID
}

func upgradeTo(uri string, apply bool) *wire.Upgrade {
	version, err := json.Marshal(wire.OSVersion{ImageURI: uri})
	Expect(err).NotTo(HaveOccurred())
	return &wire.Upgrade{Attempt: "a1", Apply: apply, OSVersionManagement: map[string]json.RawMessage{"osVersion": version}}
}

var _ = Describe("A desired state", func() {
	var r *rig
	BeforeEach(func() { r = newRig() })

	DescribeTable("is acted upon in a fixed order",
		func(desired wire.Desired, phase string, bootstrapped bool, snapshot, triggered int) {
			before := r.bootID()
			if desired.Reset {
				Expect(r.act(desired)).To(MatchError(osplugin.ErrRestart))
			} else {
				r.live(desired)
			}
			said := r.board.Report()
			Expect(said.Phase).To(Equal(phase))
			Expect(said.Bootstrapped).To(Equal(bootstrapped))
			Expect(said.OS.Snapshot).To(BeEquivalentTo(snapshot))
			Expect(r.plugin.triggered).To(Equal(triggered))
			if !bootstrapped && snapshot == 1 && triggered == 0 {
				Expect(r.bootID()).To(Equal(before))
			}
		},
		Entry("nothing", wire.Desired{Approved: true}, wire.HostRunning, false, 1, 0),
		Entry("unapproved", wire.Desired{Bootstrap: true, Reset: false, Upgrade: upgradeTo("oci:2", true)},
			wire.HostFinalizingRegistration, false, 1, 0),
		Entry("reset first", wire.Desired{Approved: true, Reset: true, Bootstrap: true, Upgrade: upgradeTo("oci:2", true)},
			wire.HostTriggeringReset, false, 1, 1),
		Entry("reset, although nobody vouches for the host any more", wire.Desired{Reset: true, Bootstrap: true, Upgrade: upgradeTo("oci:2", true)},
			wire.HostTriggeringReset, false, 1, 1),
		Entry("upgrade, then bootstrap", wire.Desired{Approved: true, Bootstrap: true, Upgrade: upgradeTo("oci:2", true)},
			wire.HostRunning, true, 2, 0),
		Entry("no bootstrap before the upgrade is triggered", wire.Desired{Approved: true, Bootstrap: true, Upgrade: upgradeTo("oci:2", false)},
			wire.HostRunning, false, 1, 0),
		Entry("no bootstrap on an OS that is not the wanted one", wire.Desired{Approved: true, Bootstrap: true, Upgrade: upgradeTo("missing", true)},
			wire.HostRunning, false, 1, 0),
		Entry("bootstrap alone", wire.Desired{Approved: true, Bootstrap: true}, wire.HostRunning, true, 1, 0),
	)

	It("reports that what the agent keeps is lost with the next reboot, as long as it is", func() {
		r.volatileDir = "/var is in memory"
		_, err := r.phases.Observe(context.Background())
		Expect(err).NotTo(HaveOccurred())
		Expect(r.board.Report().VolatileWorkDir).To(Equal("/var is in memory"))
		r.volatileDir = ""
		_, err = r.phases.Observe(context.Background())
		Expect(err).NotTo(HaveOccurred())
		Expect(r.board.Report().VolatileWorkDir).To(BeEmpty())
	})

	It("is not acted upon in recovery", func() {
		r.plugin.mode = osplugin.ModeRecovery
		r.live(wire.Desired{Approved: true, Bootstrap: true, Upgrade: upgradeTo("oci:2", true)})
		Expect(r.board.Report()).To(And(HaveField("Bootstrapped", false), HaveField("Message", ContainSubstring("recovery")), HaveField("Upgrade", BeNil())))
	})

	It("leaves a bootstrapped host bootstrapped while it is upgraded", func() {
		r.live(wire.Desired{Approved: true, Bootstrap: true})
		r.live(wire.Desired{Approved: true, Bootstrap: true, Upgrade: upgradeTo("oci:2", true)})
		Expect(r.board.Report()).To(And(HaveField("Bootstrapped", true), HaveField("OS.Snapshot", BeEquivalentTo(2)),
			HaveField("OS.ImageURI", "oci:2"), HaveField("Upgrade.Phase", wire.PhaseSucceeded)))
		Expect(r.plugin.placed).To(Equal(1))
	})

	It("is not needed to end an upgrade that was begun", func() {
		before := r.bootID()
		Expect(r.phases.Resume(context.Background())).To(Succeed())
		Expect(r.board.Report().Phase).NotTo(Equal(wire.HostReconcilingOSVersion), "there is nothing to go on with")

		Expect(r.act(wire.Desired{Approved: true, Upgrade: upgradeTo("oci:2", true)})).To(MatchError(osplugin.ErrRestart))
		r.start()
		Expect(r.phases.Resume(context.Background())).To(Succeed())
		Expect(r.board.Report()).To(And(HaveField("OS.Snapshot", BeEquivalentTo(2)), HaveField("Upgrade.Phase", wire.PhaseSucceeded)))
		Expect(r.bootID()).NotTo(Equal(before))
	})

	It("gets the host's addresses, but not all", func() {
		r.live(wire.Desired{Approved: true})
		addresses := r.board.Report().Addresses
		Expect(addresses).To(HaveLen(8))
		Expect(addresses[:2]).To(Equal([]wire.Address{{Type: "Hostname", Address: "host-1"}, {Type: "InternalIP", Address: "192.0.2.0"}}))
	})
})

var _ = Describe("A bootstrap", func() {
	var r *rig
	desired := wire.Desired{Approved: true, Bootstrap: true}
	BeforeEach(func() { r = newRig() })

	mark := func(content string) {
		Expect(os.WriteFile(filepath.Join(r.dir, "bootstrap.json"), []byte(content), 0o600)).To(Succeed())
		r.start()
	}

	It("waits for its data", func() {
		r.api.err = client.ErrNotFound
		r.start()
		Expect(r.act(desired)).To(MatchError("waiting for bootstrap data"))
		Expect(r.plugin.placed).To(BeZero())
	})

	It("says why data is refused, does not reboot, and takes others as soon as there are: they are the same wish", func() {
		r.plugin.bootstrap = osplugin.ErrUnsupported
		Expect(r.act(desired)).To(MatchError(osplugin.ErrUnsupported), "or nothing would have it tried again")
		Expect(r.board.Report()).To(And(HaveField("Phase", wire.HostBootstrapping), HaveField("Message", ContainSubstring("not supported"))))
		r.plugin.bootstrap = nil
		Expect(r.act(desired)).To(MatchError(osplugin.ErrRestart), "it reboots into the bootstrap")
	})

	DescribeTable("survives an agent that is killed",
		func(phase string, sameBoot bool, state osplugin.BootstrapState, placed int, done bool) {
			boot := "an-earlier-one"
			if sameBoot {
				boot = r.bootID()
			}
			mark(fmt.Sprintf(`{"phase":%q,"bootID":%q}`, phase, boot))
			r.plugin.state = &state
			err := r.act(desired)
			Expect(r.plugin.placed).To(Equal(placed))
			if done {
				Expect(err).NotTo(HaveOccurred())
				Expect(r.board.Report().Bootstrapped).To(BeTrue())
				return
			}
			Expect(err).To(MatchError(osplugin.ErrRestart), "it reboots")
		},
		Entry("while it placed the data", "placing", true, osplugin.BootstrapState{}, 1, false),
		Entry("after it had placed the data", "placing", true, osplugin.BootstrapState{Placed: true}, 1, false),
		Entry("before the reboot", "placed", true, osplugin.BootstrapState{Placed: true}, 0, false),
		Entry("after it was applied", "placed", false, osplugin.BootstrapState{Applied: true}, 0, true),
		Entry("after it was applied and rebooted once more: the sentinel is lost", "placed", false, osplugin.BootstrapState{}, 0, true),
	)

	It("is reported as failed, for as long as it has", func() {
		mark(`{"phase":"placed","bootID":"an-earlier-one"}`)
		r.plugin.state = &osplugin.BootstrapState{Placed: true}
		failed := func(unit string) { r.plugin.failure.Store(&unit) }
		failed("network.service")
		newer := make(chan struct{})
		ended := make(chan error, 1)
		go func() { ended <- r.phases.Act(context.Background(), desired, newer, make(chan struct{})) }()
		message := func() string { return r.board.Report().Message }
		Eventually(message).Should(Equal("the bootstrap failed: see the journal of network.service on the host, and delete the Machine to start over"))
		failed("") // a person has started the unit again
		Eventually(message).ShouldNot(ContainSubstring("the bootstrap failed"))
		close(newer)
		Eventually(ended).Should(Receive(BeNil()))
	})

	It("is waited for without an error that was resolved before", func() {
		mark(`{"phase":"placed","bootID":"an-earlier-one"}`)
		r.plugin.state = &osplugin.BootstrapState{Placed: true}
		r.phases.Failed(errors.New("the OS is not known"))
		newer := make(chan struct{})
		close(newer)
		Expect(r.phases.Act(context.Background(), desired, newer, make(chan struct{}))).To(Succeed())
		Expect(r.board.Report()).To(And(HaveField("Phase", wire.HostBootstrapping), HaveField("Message", Not(ContainSubstring("the OS is not known")))))
	})

	It("is waited for while it runs, until something else is desired", func() {
		mark(`{"phase":"placed","bootID":"an-earlier-one"}`)
		r.plugin.state = &osplugin.BootstrapState{Placed: true}
		newer := make(chan struct{})
		ended := make(chan error, 1)
		go func() { ended <- r.phases.Act(context.Background(), desired, newer, make(chan struct{})) }()
		Eventually(func() string { return r.board.Report().Message }).Should(ContainSubstring("has not succeeded in 15m0s"))
		Consistently(ended, 50*time.Millisecond).ShouldNot(Receive())
		close(newer)
		Eventually(ended).Should(Receive(BeNil()))
		Expect(r.board.Report().Phase).To(Equal(wire.HostBootstrapping))
	})
})

var _ = Describe("A reset", func() {
	It("is asked for until recovery does it, and not for ever", func() {
		r := newRig()
		desired := wire.Desired{Approved: true, Reset: true}
		for range 5 {
			Expect(r.phases.ResetPending()).To(Equal(r.plugin.triggered > 0))
			Expect(r.act(desired)).To(MatchError(osplugin.ErrRestart))
			r.start()
		}
		Expect(r.act(desired)).To(Succeed())
		Expect(r.plugin.triggered).To(Equal(5))
		Expect(r.board.Report().Message).To(ContainSubstring("rebooted 5 times to be reset"))
	})
})

var _ = It("An error stays in the report while the same is tried again, and goes when it is resolved", func() {
	r := newRig()
	r.phases.Failed(errors.New("read-only file system"))
	Expect(r.act(wire.Desired{Approved: false})).To(Succeed())
	Expect(r.board.Report()).To(And(HaveField("Phase", wire.HostFinalizingRegistration), HaveField("Message", "read-only file system")))
	r.phases.Failed(nil)
	Expect(r.board.Report().Message).To(BeEmpty())
})
