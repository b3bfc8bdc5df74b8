// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"context"
	"log/slog"
	"reflect"
	"sync"
	"time"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/agent/retry"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/agent/system"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/wire"
)

// interval between reports without a new phase of an attempt.
const interval = time.Second

// Sender sends a report; client.Client does.
type Sender interface {
	Report(ctx context.Context, report wire.Report) error
}

// Board holds the report, which all parts of the agent update.
type Board struct {
	sender Sender
	clock  system.Clock
	policy retry.Policy
	log    *slog.Logger

	lock     sync.Mutex
	report   wire.Report
	accepted *wire.Report
	// changed is closed and replaced whenever there may be something to send.
	changed chan struct{}
	// settled is closed and replaced whenever a report was accepted.
	settled chan struct{}
	// begun says that the first report was sent. It waits for what an agent finds out as soon as it runs, as that the host has booted.
	begun bool
	// flushing counts callers that wait for that.
	flushing int
	// reconsidered says that a report that the API refused may be accepted now.
	reconsidered bool
}

// New returns an empty board.
func New(sender Sender, clock system.Clock, policy retry.Policy, log *slog.Logger) *Board {
	return &Board{
		sender: sender, clock: clock, policy: policy, log: log,
		changed: make(chan struct{}), settled: make(chan struct{}),
	}
}

// Update changes the report.
func (b *Board) Update(update func(*wire.Report)) {
	b.lock.Lock()
	defer b.lock.Unlock()
	before := b.report
	update(&b.report)
	if !reflect.DeepEqual(before, b.report) {
		b.wake()
	}
}

// Attempt replaces the reported attempt. The caller must not change it afterwards.
func (b *Board) Attempt(attempt *wire.Attempt) {
	b.Update(func(report *wire.Report) { report.Upgrade = attempt })
}

// Report returns a copy of the present report.
func (b *Board) Report() wire.Report {
	b.lock.Lock()
	defer b.lock.Unlock()
	return b.report
}

// Again sends the whole report even if nothing has changed: the API may have lost it.
func (b *Board) Again() {
	b.lock.Lock()
	defer b.lock.Unlock()
	b.accepted = nil
	b.wake()
}

// Reconsider ends the wait that the API requested, because its reason may be gone: the host was approved.
func (b *Board) Reconsider() {
	b.lock.Lock()
	defer b.lock.Unlock()
	b.reconsidered = true
	b.wake()
}

// Flush returns once the present report was accepted, or ctx ends.
func (b *Board) Flush(ctx context.Context) {
	b.hurry(1)
	defer b.hurry(-1)
	for {
		b.lock.Lock()
		settled, pending := b.settled, b.pending()
		b.lock.Unlock()
		if !pending {
			return
		}
		select {
		case <-ctx.Done():
			return
		case <-settled:
		}
	}
}

func (b *Board) hurry(by int) {
	b.lock.Lock()
	defer b.lock.Unlock()
	b.flushing += by
	b.wake()
}

// Run sends reports until ctx ends. The first one is delayed like any other, since the first desired state usually changes it at once.
func (b *Board) Run(ctx context.Context) error {
	failures := 0
	if err := b.coalesce(ctx); err != nil {
		return err
	}
	for {
		report, changed, pending := b.next()
		if !pending {
			if err := waitFor(ctx, changed); err != nil {
				return err
			}
			continue
		}
		err := b.sender.Report(ctx, report)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err == nil {
			failures = 0
			b.accept(report)
			err = b.coalesce(ctx)
		} else {
			failures++
			b.doubt()
			b.log.Warn("Report was not accepted, trying again", "error", err, "failures", failures)
			err = b.waitAfter(ctx, err, failures, report, changed)
		}
		if err != nil {
			return err
		}
	}
}

// coalesce waits until the next report may be sent. A new phase of an attempt does not wait, except in the first report.
func (b *Board) coalesce(ctx context.Context) error {
	return b.hold(ctx, b.clock.After(interval), b.urgent)
}

// hold waits until the report is due, or is urgent.
func (b *Board) hold(ctx context.Context, due <-chan time.Time, urgent func() bool) error {
	for {
		b.lock.Lock()
		changed, hurry := b.changed, urgent()
		b.lock.Unlock()
		if hurry {
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-due:
			return nil
		case <-changed:
		}
	}
}

// waitAfter waits after a report was refused. If the API said for how long, only a new phase of an attempt is sent earlier, since the API
// does not refuse that for the same reason.
func (b *Board) waitAfter(ctx context.Context, cause error, failures int, refused wire.Report, changed <-chan struct{}) error {
	delay := b.policy.DelayAfter(cause, failures)
	if retry.Asked(cause) <= 0 {
		return b.wait(ctx, delay, changed)
	}
	first := min(delay, interval)
	if err := system.Wait(ctx, b.clock, first); err != nil {
		return err
	}
	return b.hold(ctx, b.clock.After(delay-first), func() bool {
		return b.reconsidered || phaseOf(b.report.Upgrade) != phaseOf(refused.Upgrade)
	})
}

// wait ends early if the report changes, but not before a retry makes sense.
func (b *Board) wait(ctx context.Context, delay time.Duration, changed <-chan struct{}) error {
	first := min(delay, interval)
	if err := system.Wait(ctx, b.clock, first); err != nil {
		return err
	}
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-changed:
	case <-b.clock.After(delay - first):
	}
	return nil
}

func (b *Board) next() (report wire.Report, changed <-chan struct{}, pending bool) {
	b.lock.Lock()
	defer b.lock.Unlock()
	b.reconsidered = false
	pending = b.pending()
	b.begun = b.begun || pending
	return b.report, b.changed, pending
}

func (b *Board) accept(report wire.Report) {
	b.lock.Lock()
	defer b.lock.Unlock()
	b.accepted = &report
	close(b.settled)
	b.settled = make(chan struct{})
}

// doubt forgets what the API last accepted: a report that failed may have been stored nevertheless, so that the previous one has to be sent
// again if the host returns to it.
func (b *Board) doubt() {
	b.lock.Lock()
	defer b.lock.Unlock()
	b.accepted = nil
}

func (b *Board) pending() bool {
	return b.accepted == nil || !reflect.DeepEqual(*b.accepted, b.report)
}

func (b *Board) urgent() bool {
	var accepted wire.Report
	if b.accepted != nil {
		accepted = *b.accepted
	}
	return b.flushing > 0 || b.begun && phaseOf(accepted.Upgrade) != phaseOf(b.report.Upgrade)
}

func (b *Board) wake() {
	close(b.changed)
	b.changed = make(chan struct{})
}

func phaseOf(attempt *wire.Attempt) [2]string {
	if attempt == nil {
		return [2]string{}
	}
	return [2]string{attempt.Attempt, attempt.Phase}
}

func waitFor(ctx context.Context, changed <-chan struct{}) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-changed:
		return nil
	}
}
