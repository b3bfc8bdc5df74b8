// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package systemtest

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/agent/system"
)

// Reply is the result of a process.
type Reply func(command system.Command) system.Result

// Runner records commands and answers them.
type Runner struct {
	lock    sync.Mutex
	calls   []system.Command
	replies map[string]Reply
}

// On sets the reply to commands with this prefix. The longest matching prefix applies.
func (r *Runner) On(beginning string, reply Reply) {
	r.lock.Lock()
	defer r.lock.Unlock()
	if r.replies == nil {
		r.replies = map[string]Reply{}
	}
	r.replies[beginning] = reply
}

// Say replies to commands with an output and exit code 0.
func (r *Runner) Say(beginning, output string) {
	r.On(beginning, func(system.Command) system.Result { return system.Result{Stdout: output} })
}

// Fail replies to commands with an exit code and an error output.
func (r *Runner) Fail(beginning string, exitCode int, stderr string) {
	r.On(beginning, func(system.Command) system.Result { return system.Result{ExitCode: exitCode, Stderr: stderr} })
}

// Calls returns the command lines that were run.
func (r *Runner) Calls() []string {
	r.lock.Lock()
	defer r.lock.Unlock()
	var calls []string
	for _, call := range r.calls {
		calls = append(calls, call.String())
	}
	return calls
}

// Commands that were run.
func (r *Runner) Commands() []system.Command {
	r.lock.Lock()
	defer r.lock.Unlock()
	return append([]system.Command{}, r.calls...)
}

// Run implements system.Runner. A command without a reply cannot be started.
func (r *Runner) Run(ctx context.Context, command system.Command) (system.Result, error) {
	if err := ctx.Err(); err != nil {
		return system.Result{}, err
	}
	r.lock.Lock()
	r.calls = append(r.calls, command)
	var reply Reply
	longest := -1
	for beginning, each := range r.replies {
		if strings.HasPrefix(command.String(), beginning) && len(beginning) > longest {
			reply, longest = each, len(beginning)
		}
	}
	r.lock.Unlock()
	if reply == nil {
		return system.Result{}, fmt.Errorf("running %q: executable file not found", command)
	}
	return reply(command), nil
}

// Clock is a clock that jumps: every wait ends at once, and advances the clock. With Manual it moves only by Advance.
type Clock struct {
	// Manual says that waits end by Advance alone.
	Manual bool

	lock    sync.Mutex
	now     time.Time
	waiters []waiter
	slept   []time.Duration
}

type waiter struct {
	due     time.Time
	channel chan time.Time
}

// NewClock starts at an arbitrary time.
func NewClock() *Clock { return &Clock{now: epoch.Add(time.Minute)} }

var epoch = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// Now is the clock's time.
func (c *Clock) Now() time.Time {
	c.lock.Lock()
	defer c.lock.Unlock()
	return c.now
}

// After implements system.Clock.
func (c *Clock) After(d time.Duration) <-chan time.Time {
	c.lock.Lock()
	defer c.lock.Unlock()
	channel := make(chan time.Time, 1)
	c.slept = append(c.slept, d)
	c.waiters = append(c.waiters, waiter{due: c.now.Add(d), channel: channel})
	if !c.Manual {
		c.now = c.now.Add(d)
	}
	c.ring()
	return channel
}

// Uptime of a machine that was started at an arbitrary time.
func (c *Clock) Uptime() time.Duration { return c.Now().Sub(epoch) }

// Advance moves the clock.
func (c *Clock) Advance(d time.Duration) {
	c.lock.Lock()
	defer c.lock.Unlock()
	c.now = c.now.Add(d)
	c.ring()
}

// Waiting returns how many waits have not ended.
func (c *Clock) Waiting() int {
	c.lock.Lock()
	defer c.lock.Unlock()
	return len(c.waiters)
}

// Slept returns the durations of all waits.
func (c *Clock) Slept() []time.Duration {
	c.lock.Lock()
	defer c.lock.Unlock()
	return append([]time.Duration{}, c.slept...)
}

func (c *Clock) ring() {
	var left []waiter
	for _, each := range c.waiters {
		if each.due.After(c.now) {
			left = append(left, each)
			continue
		}
		each.channel <- c.now
	}
	c.waiters = left
}
