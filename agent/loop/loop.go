// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package loop

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/agent/client"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/agent/osplugin"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/agent/report"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/agent/retry"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/agent/system"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/wire"
)

const (
	// DefaultWait is how long a long-poll request may stay pending.
	DefaultWait = 5 * time.Minute
	// shortest is how long a pending request has to last; an API that repeatedly answers sooner
	// without a change is not called more often than this.
	shortest = time.Second
	// settling is how long after an act the agent is considered idle.
	settling = 3 * time.Second
	// headStart is how long to wait for the first desired state before an upgrade in progress is resumed without it.
	headStart = 10 * time.Second
)

// API is the part of the Elemental API that the loop uses; client.Client implements it.
type API interface {
	Desired(ctx context.Context, revision string, wait time.Duration) (wire.Desired, bool, error)
	Register(ctx context.Context) error
}

// Actor acts on a desired state.
type Actor interface {
	// Act reconciles the host with the desired state as far as currently possible. newer closes when the desired
	// state has changed; withdrawn closes when the attempt that is being prepared was withdrawn.
	Act(ctx context.Context, desired wire.Desired, newer, withdrawn <-chan struct{}) error
	// Resume continues an upgrade that can no longer be undone, and so does not depend on the desired state, if there is one.
	Resume(ctx context.Context) error
	// Refresh updates facts that may have changed by themselves, such as addresses. It is called every few minutes at most.
	Refresh()
	// Failed reports an error; nil when it is resolved.
	Failed(err error)
}

// Options of a Loop.
type Options struct {
	API   API
	Actor Actor
	Board *report.Board
	Clock system.Clock
	Log   *slog.Logger
	// Policy for failed requests.
	Policy retry.Policy
	// Wait is how long requests may stay pending. Default DefaultWait.
	Wait time.Duration
	// Registered is called after each registration.
	Registered func() error
	// Registration is whether the host has to register first.
	Registration bool
	// Quiet is called after each pending request that ended without a change. Default: nothing.
	Quiet func(ctx context.Context)
	// Idle is called whenever there is nothing left to do, and again after each pending request that ended
	// without a change. Default: nothing.
	Idle func()
}

// Loop is the main loop of an agent.
type Loop struct {
	Options
	mailbox *mailbox
}

// New returns a loop.
func New(options Options) *Loop {
	if options.Wait == 0 {
		options.Wait = DefaultWait
	}
	if options.Idle == nil {
		options.Idle = func() {}
	}
	if options.Quiet == nil {
		options.Quiet = func(context.Context) {}
	}
	return &Loop{Options: options, mailbox: newMailbox()}
}

// Run runs until ctx ends or the agent has to be restarted (osplugin.ErrRestart).
func (l *Loop) Run(ctx context.Context) error {
	if l.Registration {
		if err := l.register(ctx); err != nil {
			return err
		}
	}
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return l.poll(ctx) })
	group.Go(func() error { return l.act(ctx) })
	group.Go(func() error { return l.Board.Run(ctx) })
	return group.Wait()
}

// poll keeps the mailbox up to date.
func (l *Loop) poll(ctx context.Context) error {
	revision, failures := "", 0
	for {
		asked := l.Clock.Now()
		desired, changed, err := l.API.Desired(ctx, revision, l.Wait)
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case errors.Is(err, client.ErrNotFound):
			l.Log.Info("The Elemental API does not know this host, registering it again")
			revision = ""
			err = l.registerAgain(ctx)
		case err != nil:
			failures++
			// A request without a revision is answered at once, which shows that the API is back.
			revision = ""
			err = l.pause(ctx, err, failures)
		default:
			if failures > 0 {
				l.Board.Again()
			}
			failures = 0
			err = l.answered(ctx, asked, &revision, desired, changed)
		}
		if err != nil {
			return err
		}
	}
}

func (l *Loop) answered(ctx context.Context, asked time.Time, revision *string, desired wire.Desired, changed bool) error {
	if changed && desired.Revision != *revision {
		*revision = desired.Revision
		l.Log.Debug("The desired state has arrived", "revision", desired.Revision)
		if desired.Unreported {
			l.Board.Again()
		}
		if former, _ := l.mailbox.look(); desired.Approved && (former == nil || !former.Approved) {
			l.Board.Reconsider()
		}
		l.mailbox.put(desired)
		return nil
	}
	l.Actor.Refresh()
	l.Quiet(ctx)
	if held := l.Clock.Now().Sub(asked); held < shortest {
		return system.Wait(ctx, l.Clock, shortest-held)
	}
	l.Idle()
	return nil
}

func (l *Loop) pause(ctx context.Context, cause error, failures int) error {
	delay := l.Policy.DelayAfter(cause, failures)
	l.Log.Warn("Request failed, trying again", "error", cause, "failures", failures, "delay", delay.Round(time.Millisecond))
	return system.Wait(ctx, l.Clock, delay)
}

// registerAgain registers the host again and reports its whole status.
func (l *Loop) registerAgain(ctx context.Context) error {
	if err := l.register(ctx); err != nil {
		return err
	}
	l.Board.Again()
	// Back off: an API that registers a host and then does not know it would cause a busy loop.
	return system.Wait(ctx, l.Clock, shortest)
}

// register returns when the host is registered, and when it is denied: the API may tell a denied host to reset
// itself.
func (l *Loop) register(ctx context.Context) error {
	for failures := 1; ; failures++ {
		err := l.API.Register(ctx)
		if err == nil {
			return l.Registered()
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		refused := errors.Is(err, client.ErrForbidden)
		if err := l.pause(ctx, err, failures); err != nil || refused {
			return err
		}
	}
}

// act reconciles the latest desired state until that is done, and then waits for another.
func (l *Loop) act(ctx context.Context) error {
	failures := 0
	for {
		desired, newer := l.mailbox.look()
		if desired == nil {
			if err := l.resume(ctx, newer); err != nil {
				return err
			}
			continue
		}
		err := l.actOn(ctx, *desired, newer)
		if ctx.Err() != nil || errors.Is(err, osplugin.ErrRestart) {
			return errors.Join(ctx.Err(), err)
		}
		l.Actor.Failed(err)
		var again <-chan time.Time
		if err == nil {
			failures = 0
			if err := l.idle(ctx, newer); err != nil {
				return err
			}
		} else {
			failures++
			l.Log.Error("Acting on the desired state failed, trying again", "error", err, "failures", failures)
			again = l.Clock.After(retry.Act.Delay(failures))
		}
		if err := wait(ctx, newer, again); err != nil {
			return err
		}
	}
}

// resume waits for the first desired state. If the API is unreachable an upgrade in progress is still completed,
// because the image that was just booted may be the reason, and the host has to fall back.
func (l *Loop) resume(ctx context.Context, newer <-chan struct{}) error {
	delay := headStart
	for failures := 1; ; failures++ {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-newer:
			return nil
		case <-l.Clock.After(delay):
		}
		err := l.Actor.Resume(ctx)
		if ctx.Err() != nil || errors.Is(err, osplugin.ErrRestart) {
			return errors.Join(ctx.Err(), err)
		}
		l.Actor.Failed(err)
		if err == nil {
			return wait(ctx, newer, nil)
		}
		l.Log.Error("Going on with what was begun failed, trying again", "error", err, "failures", failures)
		delay = retry.Act.Delay(failures)
	}
}

// idle calls Idle after the last report was sent.
func (l *Loop) idle(ctx context.Context, newer <-chan struct{}) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-newer:
	case <-l.Clock.After(settling):
		l.Idle()
	}
	return nil
}

func (l *Loop) actOn(ctx context.Context, desired wire.Desired, newer <-chan struct{}) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	withdrawn := l.mailbox.when(ctx, func(latest wire.Desired) bool { return withdraws(latest, desired) })
	return l.Actor.Act(ctx, desired, newer, withdrawn)
}

// withdraws reports whether the latest state withdraws the attempt that is being prepared.
func withdraws(latest, acting wire.Desired) bool {
	if acting.Upgrade == nil {
		return false
	}
	return latest.Upgrade == nil || latest.Upgrade.Attempt != acting.Upgrade.Attempt ||
		(latest.Reset && !acting.Reset) || (!latest.Approved && acting.Approved)
}

func wait(ctx context.Context, newer <-chan struct{}, again <-chan time.Time) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-newer:
	case <-again:
	}
	return nil
}
