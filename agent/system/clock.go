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
	// Uptime is how long this boot of the machine has run, its suspends included. Nobody sets it, as they do the time, which a
	// machine without a battery learns late in each boot.
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

// started is where the uptime begins for who has none.
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
