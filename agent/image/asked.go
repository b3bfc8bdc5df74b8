// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package image

import (
	"context"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/agent/system"
)

// asks holds how long the last answer to a request of an operation asks to wait.
type asks struct {
	lock sync.Mutex
	wait time.Duration
}

type asksKey struct{}

// withAsks returns a context for the requests of an operation, of which explain reads what the last answer has asked for.
func withAsks(ctx context.Context) context.Context {
	return context.WithValue(ctx, asksKey{}, &asks{})
}

// askedWait returns the wait that the last answer asks for; 0 if it asks for none.
func askedWait(ctx context.Context) time.Duration {
	asked, _ := ctx.Value(asksKey{}).(*asks)
	if asked == nil {
		return 0
	}
	asked.lock.Lock()
	defer asked.lock.Unlock()
	return asked.wait
}

// asking notes the header Retry-After, which the library drops.
type asking struct {
	http.RoundTripper
	clock system.Clock
}

// RoundTrip implements http.RoundTripper.
func (a asking) RoundTrip(request *http.Request) (*http.Response, error) {
	response, err := a.RoundTripper.RoundTrip(request)
	asked, _ := request.Context().Value(asksKey{}).(*asks)
	if asked == nil {
		return response, err
	}
	asked.lock.Lock()
	defer asked.lock.Unlock()
	asked.wait = 0
	if err == nil && response.StatusCode >= http.StatusBadRequest {
		asked.wait = waitOf(response.Header.Get("Retry-After"), a.clock.Now())
	}
	return response, err
}

// waitOf parses a Retry-After, in seconds or as a date; 0 if it is neither, or has passed.
func waitOf(header string, now time.Time) time.Duration {
	if seconds, err := strconv.ParseUint(header, 10, 31); err == nil {
		return time.Duration(seconds) * time.Second
	}
	if date, err := http.ParseTime(header); err == nil {
		return max(date.Sub(now), 0)
	}
	return 0
}
