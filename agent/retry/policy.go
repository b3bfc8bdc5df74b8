// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package retry

import (
	"errors"
	"math/rand/v2"
	"time"
)

// Policy is an exponential backoff with full jitter: after the n-th failure in a row it waits between
// half of and the whole of First*2^(n-1), at most Max.
type Policy struct {
	// First is the longest wait after the first failure.
	First time.Duration
	// Max bounds every wait.
	Max time.Duration
	// Attempts is how many failures in a row are accepted before giving up. 0 means never to give up.
	Attempts int
}

// Policies of the agent.
var (
	// API is for requests to the Elemental API, which are repeated for ever. Max spreads the requests of 30,000 hosts that lost the same
	// manager.
	API = Policy{First: time.Second, Max: time.Minute}
	// Registry is for requests to an image registry: about four minutes in all.
	Registry = Policy{First: time.Second, Max: time.Minute, Attempts: 9}
	// Act is for actions on the host.
	Act = Policy{First: 2 * time.Second, Max: 2 * time.Minute}
)

// Delay is how long to wait after that many failures in a row (1 or more).
func (p Policy) Delay(failures int) time.Duration {
	longest := p.First
	for i := 1; i < failures && longest < p.Max; i++ {
		longest *= 2
	}
	longest = min(longest, p.Max)
	if longest <= 1 {
		return longest
	}
	return longest/2 + rand.N(longest/2)
}

// longestAsked bounds the wait that the other side can request.
const longestAsked = 10 * time.Minute

// Asked returns the wait that an error requests, at most ten minutes; 0 if none.
func Asked(err error) time.Duration {
	var asking interface{ RetryAfter() time.Duration }
	if !errors.As(err, &asking) {
		return 0
	}
	return min(asking.RetryAfter(), longestAsked)
}

// DelayAfter is Delay, but at least the requested wait. Up to a quarter is added at random, since all refused clients were told the same.
func (p Policy) DelayAfter(err error, failures int) time.Duration {
	asked := Asked(err)
	if asked <= 0 {
		return p.Delay(failures)
	}
	return max(p.Delay(failures), asked+rand.N(asked/4+1))
}

// Exhausted reports whether that many failures in a row are too many.
func (p Policy) Exhausted(failures int) bool { return p.Attempts > 0 && failures >= p.Attempts }
