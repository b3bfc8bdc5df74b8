// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package image

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"
	"time"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/agent/system"
)

// What a registry has to send in each period, until the response is complete. A registry that sends a byte now and then never runs into a
// timeout, and would block an attempt for ever. At this pace a GiB takes 17 hours.
const (
	paceBytes  = 1 << 20
	pacePeriod = time.Minute
	// paceLook is the minimum time between two checks.
	paceLook = time.Second
)

var errTooSlow = fmt.Errorf("it sent less than %d MiB in %s", paceBytes>>20, pacePeriod)

// paced aborts responses that are too slow.
type paced struct {
	http.RoundTripper
	clock system.Clock
}

// RoundTrip cancels the request when its response is too slow; nothing else ends a blocked read.
func (p paced) RoundTrip(request *http.Request) (*http.Response, error) {
	ctx, cancel := context.WithCancelCause(request.Context())
	response, err := p.RoundTripper.RoundTrip(request.WithContext(ctx))
	if err != nil {
		cancel(nil)
		return nil, err
	}
	body := &pacedBody{ReadCloser: response.Body, clock: p.clock, ctx: ctx, cancel: cancel}
	go body.watch(p.clock.After(pacePeriod))
	response.Body = body
	return response, nil
}

// pacedBody measures the time that its reader is blocked on the registry. The time that the reader takes to write to a slow disk or to the
// CLI does not count.
type pacedBody struct {
	io.ReadCloser
	clock  system.Clock
	ctx    context.Context
	cancel context.CancelCauseFunc

	mu      sync.Mutex
	reading bool
	since   time.Time     // start of the part of the present read that is not in waited
	waited  time.Duration // in this period
	came    int           // in this period
}

// Read implements io.Reader.
func (b *pacedBody) Read(into []byte) (int, error) {
	b.begin()
	n, err := b.ReadCloser.Read(into)
	b.end(n)
	if err != nil {
		if errors.Is(context.Cause(b.ctx), errTooSlow) {
			return n, errTooSlow
		}
		b.cancel(nil)
	}
	return n, err
}

// Close implements io.Closer.
func (b *pacedBody) Close() error {
	b.cancel(nil)
	return b.ReadCloser.Close()
}

func (b *pacedBody) begin() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.reading, b.since = true, b.clock.Now()
}

func (b *pacedBody) end(came int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.count()
	b.reading = false
	b.came += came
}

// count adds the time since it was last called to waited, if a read is in progress.
func (b *pacedBody) count() {
	now := b.clock.Now()
	if b.reading {
		b.waited += now.Sub(b.since)
	}
	b.since = now
}

// watch ends when the response has ended.
func (b *pacedBody) watch(due <-chan time.Time) {
	for {
		select {
		case <-b.ctx.Done():
			return
		case <-due:
		}
		next, ok := b.judge()
		if !ok {
			b.cancel(errTooSlow)
			return
		}
		due = b.clock.After(next)
	}
}

// judge reports whether enough arrived in a period that is over, and when to check again.
func (b *pacedBody) judge() (next time.Duration, ok bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.count()
	if b.waited < pacePeriod {
		return max(pacePeriod-b.waited, paceLook), true
	}
	ok = b.came >= paceBytes
	b.waited, b.came = 0, 0
	return pacePeriod, ok
}
