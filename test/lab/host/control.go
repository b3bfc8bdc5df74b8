// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package host

import (
	"context"
	"errors"
)

type controlKind int

const (
	powerOff controlKind = iota
	powerOn
	killAgent
	stopAgent
	startAgent
)

// control is a request of a test to a host.
type control struct {
	kind controlKind
	done chan struct{}
}

// ErrStopped means that the host was stopped.
var ErrStopped = errors.New("host is stopped")

func (h *Host) send(ctx context.Context, kind controlKind) error {
	c := control{kind: kind, done: make(chan struct{})}
	select {
	case h.control <- c:
	case <-h.done:
		return ErrStopped
	case <-ctx.Done():
		return ctx.Err()
	}
	select {
	case <-c.done:
		return nil
	case <-h.done:
		return ErrStopped
	}
}

// PowerOff cuts the power: all processes on the host are killed, without a graceful shutdown. The host
// stays off until PowerOn.
func (h *Host) PowerOff(ctx context.Context) error { return h.send(ctx, powerOff) }

// PowerOn boots a host that is off.
func (h *Host) PowerOn(ctx context.Context) error { return h.send(ctx, powerOn) }

// KillAgent kills the agent and its children, as the kernel's OOM killer would. It is restarted after
// Options.RestartDelay.
func (h *Host) KillAgent(ctx context.Context) error { return h.send(ctx, killAgent) }

// StopAgent kills the agent, which is not restarted until StartAgent or the next boot.
func (h *Host) StopAgent(ctx context.Context) error { return h.send(ctx, stopAgent) }

// StartAgent starts an agent that was stopped.
func (h *Host) StartAgent(ctx context.Context) error { return h.send(ctx, startAgent) }
