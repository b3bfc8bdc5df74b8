// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package observed

import (
	"maps"
	"sync"
	"time"
)

// Skew is how far the clocks of others are believed to be off at most, where there is nothing but their times to go by.
const Skew = 10 * time.Minute

// forgottenAfter is how long a key is kept that nobody looks at. It is longer than any interval at which one is looked at again.
const forgottenAfter = 7 * 24 * time.Hour

// Changes remembers the last value of each key, and when it was first seen. The zero value is ready, and may be used by many at once.
// Nothing of it is stored: after a restart every value is seen for the first time, so what is waited for is waited for once more.
type Changes struct {
	mu    sync.Mutex
	each  map[any]entry
	swept time.Time
}

// Change is the last change of a value.
type Change struct {
	// Since is when the value was first seen.
	Since time.Time
	// After is when the former value was last seen, so that the change came between After and Since. Zero: no former value is known.
	After time.Time
}

type entry struct {
	Change
	first, value any
	seen         time.Time
}

// Look says since when a key has had the value that it has now. Keys and values are comparable; those of a package have a type of it.
func (c *Changes) Look(key, value any, now time.Time) Change { return c.look(key, value, now).Change }

// First returns the value that a key had when it was first seen: the given one, if it is so now.
func (c *Changes) First(key, value any, now time.Time) any { return c.look(key, value, now).first }

func (c *Changes) look(key, value any, now time.Time) entry {
	c.mu.Lock()
	defer c.mu.Unlock()
	found, known := c.each[key]
	switch {
	case !known:
		found = entry{Change: Change{Since: now}, first: value, value: value}
	case found.value != value:
		found = entry{Change: Change{Since: now, After: found.seen}, first: found.first, value: value}
	}
	found.seen = now
	c.sweep(now)
	c.each[key] = found
	return found
}

// Age is for how long an object of the management cluster has been as it is since another machine wrote that, at a time by its own clock.
// It is counted from when that was first seen, and is never less than by that time, all but Skew: a restart of this process does not begin
// every wait again.
func (c *Changes) Age(key any, written, now time.Time) time.Duration {
	since := c.Look(key, written.UnixNano(), now).Since
	return max(now.Sub(since), now.Sub(written)-Skew)
}

func (c *Changes) sweep(now time.Time) {
	if c.each == nil {
		c.each, c.swept = map[any]entry{}, now
	}
	if now.Sub(c.swept) < forgottenAfter {
		return
	}
	maps.DeleteFunc(c.each, func(_ any, of entry) bool { return now.Sub(of.seen) >= forgottenAfter })
	c.swept = now
}

// Left is what is left of a wait that began when another machine of the management cluster wrote something, at a time by its own clock. It is
// for waits of seconds that nobody looks at meanwhile. Nothing is left of one that began later than Skew from now.
func Left(wait time.Duration, began, now time.Time) time.Duration {
	left := wait - now.Sub(began)
	if left > wait+Skew {
		return 0
	}
	return max(0, left)
}
