// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package report_test

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/agent/client"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/agent/report"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/agent/retry"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/agent/system/systemtest"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/wire"
)

// sender records reports and fails as often as it is told to.
type sender struct {
	lock  sync.Mutex
	sent  []wire.Report
	fails int
	// with is what it fails with. Default: an error that says nothing.
	with error
}

func (s *sender) Report(_ context.Context, report wire.Report) error {
	s.lock.Lock()
	defer s.lock.Unlock()
	if s.fails > 0 {
		s.fails--
		if s.with != nil {
			return s.with
		}
		return errors.New("no")
	}
	s.sent = append(s.sent, report)
	return nil
}

func (s *sender) fail(times int) {
	s.lock.Lock()
	defer s.lock.Unlock()
	s.fails = times
}

// failed reports whether it has failed as often as it was told to.
func (s *sender) failed() bool {
	s.lock.Lock()
	defer s.lock.Unlock()
	return s.fails == 0
}

func (s *sender) messages() []string {
	s.lock.Lock()
	defer s.lock.Unlock()
	messages := []string{}
	for _, each := range s.sent {
		messages = append(messages, each.Message)
	}
	return messages
}

func (s *sender) phases() []string {
	s.lock.Lock()
	defer s.lock.Unlock()
	phases := []string{}
	for _, each := range s.sent {
		if each.Upgrade != nil {
			phases = append(phases, each.Upgrade.Phase)
		}
	}
	return phases
}

var _ = Describe("The board", func() {
	var (
		to    *sender
		clock *systemtest.Clock
		board *report.Board
	)
	say := func(message string) { board.Update(func(r *wire.Report) { r.Message = message }) }

	BeforeEach(func() {
		to, clock = &sender{}, systemtest.NewClock()
		clock.Manual = true
		board = report.New(to, clock, retry.Policy{First: time.Second, Max: time.Minute}, slog.New(slog.NewTextHandler(GinkgoWriter, nil)))
		say("first")
		ctx, cancel := context.WithCancel(context.Background())
		ended := make(chan error, 1)
		go func() { ended <- board.Run(ctx) }()
		DeferCleanup(func() {
			cancel()
			Eventually(ended).Should(Receive(MatchError(context.Canceled)))
		})
		Eventually(clock.Waiting).Should(Equal(1))
	})
	second := func() {
		Eventually(clock.Waiting).Should(BeNumerically(">", 0))
		clock.Advance(time.Second)
	}

	It("sends the first report once, and then nothing", func() {
		second()
		Eventually(to.messages).Should(Equal([]string{"first"}))
		second()
		Consistently(to.messages, 100*time.Millisecond).Should(HaveLen(1))
	})

	It("sends only the latest of what changes within a second", func() {
		second()
		Eventually(to.messages).Should(HaveLen(1))
		say("a")
		say("b")
		say("c")
		Consistently(to.messages, 50*time.Millisecond).Should(HaveLen(1))
		second()
		Eventually(to.messages).Should(Equal([]string{"first", "c"}))
	})

	It("says nothing about a change that was taken back", func() {
		second()
		Eventually(to.messages).Should(HaveLen(1))
		say("a")
		say("first")
		second()
		Consistently(to.messages, 50*time.Millisecond).Should(HaveLen(1))
	})

	It("does not let a new phase of an attempt wait", func() {
		second()
		Eventually(to.messages).Should(HaveLen(1))
		board.Attempt(&wire.Attempt{Attempt: "a1", Phase: wire.PhaseFetching})
		Eventually(to.messages).Should(HaveLen(2))
		board.Attempt(&wire.Attempt{Attempt: "a1", Phase: wire.PhaseFetched})
		Eventually(to.messages).Should(HaveLen(3))
		board.Attempt(&wire.Attempt{Attempt: "a1", Phase: wire.PhaseFetched, Message: "more"})
		Consistently(to.messages, 50*time.Millisecond).Should(HaveLen(3))
	})

	It("says in one report that the host has booted, and that it assesses its boot", func() {
		board.Attempt(&wire.Attempt{Attempt: "a1", Phase: wire.PhaseRebooting})
		Consistently(to.messages, 50*time.Millisecond).Should(BeEmpty())
		board.Attempt(&wire.Attempt{Attempt: "a1", Phase: wire.PhaseAssessing})
		Consistently(to.messages, 50*time.Millisecond).Should(BeEmpty())
		second()
		Eventually(to.phases).Should(Equal([]string{wire.PhaseAssessing}))
		board.Attempt(&wire.Attempt{Attempt: "a1", Phase: wire.PhaseSucceeded})
		Eventually(to.phases).Should(Equal([]string{wire.PhaseAssessing, wire.PhaseSucceeded}))
	})

	It("sends everything again when it is asked to", func() {
		second()
		Eventually(to.messages).Should(HaveLen(1))
		second()
		board.Again()
		Eventually(to.messages).Should(Equal([]string{"first", "first"}))
	})

	It("tries until a report is accepted", func() {
		to.fails = 2
		for range 4 {
			second()
		}
		Eventually(func() []string { clock.Advance(time.Second); return to.messages() }).Should(Equal([]string{"first"}))
	})

	Describe("refused by an API that says when to come back", func() {
		BeforeEach(func() {
			to.with = &client.APIError{Status: 429, ComeBack: time.Minute}
			to.fail(1)
			second()
			Eventually(to.failed).Should(BeTrue())
			second()
		})

		It("keeps the report until then, whatever else there is to say", func() {
			say("second")
			Eventually(clock.Waiting).Should(BeNumerically(">", 0))
			clock.Advance(58 * time.Second)
			Consistently(to.messages, 100*time.Millisecond).Should(BeEmpty())
			clock.Advance(20 * time.Second)
			Eventually(to.messages).Should(Equal([]string{"second"}))
		})

		It("sends a new phase of an attempt all the same", func() {
			board.Attempt(&wire.Attempt{Attempt: "a1", Phase: wire.PhaseFetching})
			Eventually(to.messages).Should(HaveLen(1))
		})

		It("asks again when the reason may be gone", func() {
			board.Reconsider()
			Eventually(to.messages).Should(Equal([]string{"first"}))
		})
	})

	It("takes a change back that may have been stored, although it was not accepted", func() {
		second()
		Eventually(to.messages).Should(Equal([]string{"first"}))
		to.fail(1)
		say("a")
		second()
		Eventually(to.failed).Should(BeTrue())
		say("first")
		Eventually(func() []string { clock.Advance(time.Second); return to.messages() }).Should(Equal([]string{"first", "first"}))
	})

	It("flushes at once, and knows when", func() {
		flushed := make(chan struct{})
		go func() { board.Flush(context.Background()); close(flushed) }()
		Eventually(flushed).Should(BeClosed())
		Expect(to.messages()).To(Equal([]string{"first"}))
	})

	It("does not wait for a flush for ever", func() {
		to.fails = 1000
		ctx, cancel := context.WithTimeout(context.Background(), 20*time.Millisecond)
		defer cancel()
		board.Flush(ctx)
		Expect(to.messages()).To(BeEmpty())
	})
})
