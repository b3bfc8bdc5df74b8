// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package loop_test

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/agent/client"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/agent/loop"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/agent/osplugin"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/agent/report"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/agent/retry"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/agent/system/systemtest"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/wire"
)

type answer struct {
	desired wire.Desired
	changed bool
	err     error
}

// fakeAPI gives its answers in order and then holds.
type fakeAPI struct {
	lock      sync.Mutex
	answers   []answer
	more      chan struct{}
	asked     []string
	registers int
	refuse    []error
	reports   int
	// refuseReport is what every report is answered with.
	refuseReport error
}

func (f *fakeAPI) then(answers ...answer) {
	f.lock.Lock()
	defer f.lock.Unlock()
	f.answers = append(f.answers, answers...)
	close(f.more)
	f.more = make(chan struct{})
}

func (f *fakeAPI) Desired(ctx context.Context, revision string, _ time.Duration) (wire.Desired, bool, error) {
	f.lock.Lock()
	f.asked = append(f.asked, revision)
	f.lock.Unlock()
	for {
		f.lock.Lock()
		more := f.more
		if len(f.answers) > 0 {
			next := f.answers[0]
			f.answers = f.answers[1:]
			f.lock.Unlock()
			return next.desired, next.changed, next.err
		}
		f.lock.Unlock()
		select {
		case <-ctx.Done():
			return wire.Desired{}, false, ctx.Err()
		case <-more:
		}
	}
}

func (f *fakeAPI) Register(context.Context) error {
	f.lock.Lock()
	defer f.lock.Unlock()
	f.registers++
	if len(f.refuse) > 0 {
		err := f.refuse[0]
		f.refuse = f.refuse[1:]
		return err
	}
	return nil
}

func (f *fakeAPI) Report(context.Context, wire.Report) error {
	f.lock.Lock()
	defer f.lock.Unlock()
	f.reports++
	return f.refuseReport
}

func (f *fakeAPI) revisions() []string {
	f.lock.Lock()
	defer f.lock.Unlock()
	return append([]string{}, f.asked...)
}

func (f *fakeAPI) registered() int {
	f.lock.Lock()
	defer f.lock.Unlock()
	return f.registers
}

// fakeActor records what it is to act on; act does it.
type fakeActor struct {
	lock      sync.Mutex
	acted     []string
	failed    []string
	refreshes int
	resume    func(ctx context.Context) error
	act       func(ctx context.Context, desired wire.Desired, newer, withdrawn <-chan struct{}) error
}

func (f *fakeActor) Act(ctx context.Context, desired wire.Desired, newer, withdrawn <-chan struct{}) error {
	f.lock.Lock()
	f.acted = append(f.acted, desired.Revision)
	act := f.act
	f.lock.Unlock()
	if act == nil {
		return nil
	}
	return act(ctx, desired, newer, withdrawn)
}

func (f *fakeActor) Resume(ctx context.Context) error {
	if f.resume == nil {
		return nil
	}
	return f.resume(ctx)
}

func (f *fakeActor) Refresh() {
	f.lock.Lock()
	defer f.lock.Unlock()
	f.refreshes++
}

func (f *fakeActor) Failed(err error) {
	if err == nil {
		return
	}
	f.lock.Lock()
	defer f.lock.Unlock()
	f.failed = append(f.failed, err.Error())
}

func (f *fakeActor) on() []string {
	f.lock.Lock()
	defer f.lock.Unlock()
	return append([]string{}, f.acted...)
}

func to(revision string, change ...func(*wire.Desired)) answer {
	desired := wire.Desired{Revision: revision, Approved: true}
	for _, each := range change {
		each(&desired)
	}
	return answer{desired: desired, changed: true}
}

func attempt(id string) func(*wire.Desired) {
	return func(desired *wire.Desired) { desired.Upgrade = &wire.Upgrade{Attempt: id} }
}

var _ = Describe("The loop", func() {
	var (
		api   *fakeAPI
		actor *fakeActor
		clock *systemtest.Clock
		ended chan error
	)
	start := func(registration bool) {
		log := slog.New(slog.NewTextHandler(GinkgoWriter, nil))
		policy := retry.Policy{First: time.Second, Max: time.Minute}
		worker := loop.New(loop.Options{
			API: api, Actor: actor, Board: report.New(api, clock, policy, log), Clock: clock, Log: log, Policy: policy,
			Registration: registration, Registered: func() error { return nil },
		})
		ctx, cancel := context.WithCancel(context.Background())
		ended = make(chan error, 1)
		go func() { ended <- worker.Run(ctx); close(ended) }()
		DeferCleanup(func() {
			cancel()
			Eventually(ended).Should(BeClosed())
		})
	}
	BeforeEach(func() {
		api, actor, clock = &fakeAPI{more: make(chan struct{})}, &fakeActor{}, systemtest.NewClock()
	})

	It("acts on each state, and asks for what comes after it", func() {
		start(false)
		api.then(to("1"))
		Eventually(actor.on).Should(Equal([]string{"1"}))
		api.then(to("2"))
		Eventually(actor.on).Should(Equal([]string{"1", "2"}))
		Eventually(api.revisions).Should(Equal([]string{"", "1", "2"}))
		Expect(api.registered()).To(BeZero())
	})

	It("does not act when nothing has changed", func() {
		start(false)
		api.then(to("1"), answer{}, answer{}, to("1"))
		Eventually(api.revisions).Should(Equal([]string{"", "1", "1", "1", "1"}))
		Consistently(actor.on, 50*time.Millisecond).Should(Equal([]string{"1"}))
		Expect(actor.refreshes).To(Equal(3))
		Expect(clock.Slept()).To(ContainElement(time.Second), "an API that does not hold requests is not asked without pause")
	})

	It("waits longer after each failure, then asks for everything", func() {
		start(false)
		api.then(to("1"), answer{err: client.ErrUnavailable}, answer{err: client.ErrUnauthorized}, answer{err: errors.New("no route")}, to("1"))
		Eventually(api.revisions).Should(Equal([]string{"", "1", "", "", "", "1"}))
		Expect(actor.on()).To(Equal([]string{"1"}), "the same state is no news")
		Eventually(func() int { api.lock.Lock(); defer api.lock.Unlock(); return api.reports }).Should(BeNumerically(">=", 1))
	})

	It("registers until it works, if it has to", func() {
		api.refuse = []error{client.ErrUnavailable, client.ErrConflict}
		start(true)
		api.then(to("1"))
		Eventually(actor.on).Should(Equal([]string{"1"}))
		Expect(api.registered()).To(Equal(3))
	})

	It("goes on asking where it is forbidden to register: it may have to reset itself all the same", func() {
		api.refuse = []error{client.ErrForbidden}
		start(false)
		api.then(answer{err: client.ErrNotFound}, to("1", func(d *wire.Desired) { d.Reset = true }))
		Eventually(actor.on).Should(Equal([]string{"1"}))
		Expect(api.registered()).To(Equal(1))
	})

	It("registers as late as the API asks", func() {
		api.refuse = []error{&client.APIError{Status: 429, ComeBack: 5 * time.Minute}}
		start(true)
		api.then(to("1"))
		Eventually(actor.on).Should(Equal([]string{"1"}))
		Expect(api.registered()).To(Equal(2))
		Expect(clock.Slept()).To(ContainElement(BeNumerically(">=", 5*time.Minute)))
	})

	It("reports at once when it is approved, whatever the API refused before", func() {
		clock.Manual = true
		api.refuseReport = &client.APIError{Status: 429, ComeBack: time.Minute}
		start(false)
		reports := func() int { api.lock.Lock(); defer api.lock.Unlock(); return api.reports }
		api.then(to("1", func(d *wire.Desired) { d.Approved = false }))
		Eventually(actor.on).Should(HaveLen(1))
		Eventually(func() int { clock.Advance(time.Second); return reports() }).Should(Equal(1))
		Consistently(func() int { clock.Advance(time.Second); return reports() }, 100*time.Millisecond).Should(Equal(1))
		api.then(to("2"))
		Eventually(reports).Should(Equal(2))
	})

	It("registers again when it is not known any more", func() {
		start(false)
		api.then(to("1"), answer{err: client.ErrNotFound}, to("2"))
		Eventually(actor.on).Should(ContainElement("2"))
		Expect(api.registered()).To(Equal(1))
	})

	It("reports everything again to an API that has no report of it, and has nothing to act on for that", func() {
		start(false)
		api.then(to("1"))
		reports := func() int { api.lock.Lock(); defer api.lock.Unlock(); return api.reports }
		Eventually(reports).Should(Equal(1))
		api.then(to("2", func(d *wire.Desired) { d.Unreported = true }), to("1"))
		Eventually(reports).Should(BeNumerically(">", 1))
		Eventually(api.revisions).Should(Equal([]string{"", "1", "2", "1"}))
		Expect(actor.on()).To(Equal([]string{"1"}))
	})

	It("acts again after a failure, and says it", func() {
		fails := 2
		actor.act = func(context.Context, wire.Desired, <-chan struct{}, <-chan struct{}) error {
			if fails--; fails >= 0 {
				return errors.New("the disk is slow")
			}
			return nil
		}
		start(false)
		api.then(to("1"))
		Eventually(actor.on).Should(Equal([]string{"1", "1", "1"}))
		Expect(actor.failed).To(Equal([]string{"the disk is slow", "the disk is slow"}))
	})

	It("ends when the agent has to be started again", func() {
		actor.act = func(context.Context, wire.Desired, <-chan struct{}, <-chan struct{}) error {
			return osplugin.ErrRestart
		}
		start(false)
		api.then(to("1"))
		Eventually(ended).Should(Receive(MatchError(osplugin.ErrRestart)))
	})

	It("goes on with what was begun while the API is away, until that is done", func() {
		resumed := make(chan struct{}, 10)
		fails := 2
		actor.resume = func(context.Context) error {
			resumed <- struct{}{}
			if fails--; fails >= 0 {
				return errors.New("the disk is slow")
			}
			return nil
		}
		start(false)
		for range 3 {
			Eventually(resumed).Should(Receive())
		}
		Consistently(resumed, 50*time.Millisecond).ShouldNot(Receive())
		Expect(clock.Slept()).To(ContainElement(10*time.Second), "the API has a head start")
		Expect(actor.failed).To(Equal([]string{"the disk is slow", "the disk is slow"}))
		Expect(actor.on()).To(BeEmpty())
		api.then(to("1"))
		Eventually(actor.on).Should(Equal([]string{"1"}))
	})

	It("ends when what was begun needs the agent to be started again", func() {
		actor.resume = func(context.Context) error { return osplugin.ErrRestart }
		start(false)
		Eventually(ended).Should(Receive(MatchError(osplugin.ErrRestart)))
	})

	DescribeTable("tells an act that its attempt is withdrawn",
		func(latest answer, withdrawn bool) {
			told := make(chan bool, 1)
			actor.act = func(ctx context.Context, desired wire.Desired, newer, stop <-chan struct{}) error {
				if desired.Revision != "1" {
					return nil
				}
				<-newer
				select {
				case <-stop:
					told <- true
				case <-time.After(100 * time.Millisecond):
					told <- false
				}
				return nil
			}
			start(false)
			api.then(to("1", attempt("a1")))
			Eventually(actor.on).Should(HaveLen(1))
			api.then(latest)
			Eventually(told).Should(Receive(Equal(withdrawn)))
			Eventually(actor.on).Should(Equal([]string{"1", "2"}))
		},
		Entry("gone", to("2"), true),
		Entry("another one", to("2", attempt("a2")), true),
		Entry("a reset", to("2", attempt("a1"), func(d *wire.Desired) { d.Reset = true }), true),
		Entry("no approval", to("2", attempt("a1"), func(d *wire.Desired) { d.Approved = false }), true),
		Entry("but not when it is triggered", to("2", attempt("a1"), func(d *wire.Desired) { d.Upgrade.Apply = true }), false),
		Entry("nor when it is pinned", to("2", attempt("a1"), func(d *wire.Desired) { d.Upgrade.Digest = "x" }), false),
	)
})
