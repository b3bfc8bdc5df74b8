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
	// DefaultWait is how long the API is asked to hold a request.
	DefaultWait = 5 * time.Minute
	// shortest is how long a held request has to last; an API that answers sooner, again and again,
	// without news is not asked more often than this.
	shortest = time.Second
	// settling is how long after an act the agent is taken to be idle.
	settling = 3 * time.Second
	// headStart is how long the first desired state is waited for before what was begun goes on without it.
	headStart = 10 * time.Second
)

// API is what the loop needs of the Elemental API; client.Client does it.
type API interface {
	Desired(ctx context.Context, revision string, wait time.Duration) (wire.Desired, bool, error)
	Register(ctx context.Context) error
}

// Actor acts on a desired state.
type Actor interface {
	// Act does what is desired, as far as that goes. newer closes when another state is desired;
	// withdrawn closes when what is being prepared is not wanted any more.
	Act(ctx context.Context, desired wire.Desired, newer, withdrawn <-chan struct{}) error
	// Resume goes on with what was begun and depends on nobody's wish any more, if there is such a thing.
	Resume(ctx context.Context) error
	// Refresh looks again at what may have changed by itself. It is called every few minutes at most.
	Refresh()
	// Failed says what went wrong; nil when it is right again.
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
	// Wait is how long requests are held. Default DefaultWait.
	Wait time.Duration
	// Registered is called after each registration.
	Registered func() error
	// Registration says that the host has to register first.
	Registration bool
	// Quiet is called after each held request that brought no news. Default: nothing.
	Quiet func(ctx context.Context)
	// Idle is called whenever there is nothing left to do, and again after each held request that brought
	// no news. Default: nothing.
	Idle func()
}

// Loop is an agent at work.
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

// Run works until ctx ends or the agent has to be started again (osplugin.ErrRestart).
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
			// Asked without a revision, the API answers at once: then it is known to be back.
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

// registerAgain makes the API know everything anew.
func (l *Loop) registerAgain(ctx context.Context) error {
	if err := l.register(ctx); err != nil {
		return err
	}
	l.Board.Again()
	// An API that registers a host and then does not know it must not be asked as fast as it answers.
	return system.Wait(ctx, l.Clock, shortest)
}

// register ends when the host is registered, and when it is forbidden to be: the API may have something to ask of a host
// that it does not let in.
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

// act works on the latest desired state until it is done, and then waits for another.
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

// resume waits for the first desired state. An API that stays away does not keep a host from ending what
// it has begun: the image that it has just booted may be what keeps it from reaching the API.
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

// idle waits for the report of what was done before it calls Idle, which is for the long silence that
// follows.
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

// withdraws reports whether the latest state gives up the attempt that is being prepared.
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
