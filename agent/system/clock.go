// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package system

import (
	"context"
	"time"
)

// Clock tells the time and waits.
type Clock interface {
	Now() time.Time
	// After returns a channel that receives once d has passed.
	After(d time.Duration) <-chan time.Time
	// Uptime is how long this boot has run, including suspends. Unlike the time it is never set, as happens late in each boot of a machine
	// whose clock has no battery.
	Uptime() time.Duration
}

// WallClock is the machine's clock.
type WallClock struct{}

// Now is time.Now.
func (WallClock) Now() time.Time { return time.Now() }

// After is time.After.
func (WallClock) After(d time.Duration) <-chan time.Time { return time.After(d) }

// Uptime is that of the kernel.
func (WallClock) Uptime() time.Duration { return uptime() }

// started is the beginning of the uptime where the kernel's is not available.
var started = time.Now()

// Wait returns after d, or with the context's error when that ends first.
func Wait(ctx context.Context, clock Clock, d time.Duration) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-clock.After(d):
		return nil
	}
}
