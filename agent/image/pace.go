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

// What a registry has to send of an answer in each period that is waited for it, until the answer is complete. A registry that sends a byte now and
// then is no time-out of a connection, and would hold an attempt for ever. At this pace a GiB takes 17 hours.
const (
	paceBytes  = 1 << 20
	pacePeriod = time.Minute
	// paceLook is how often it is looked at most whether a period is over.
	paceLook = time.Second
)

var errTooSlow = fmt.Errorf("it has sent less than %d MiB in %s", paceBytes>>20, pacePeriod)

// paced gives up answers that do not come forward.
type paced struct {
	http.RoundTripper
	clock system.Clock
}

// RoundTrip ends the request when its answer is too slow, which is all that ends a read that waits.
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

// pacedBody counts the time in which its reader waits for the registry. What the reader takes itself, to write what it has
// read to a slow disk or to the CLI, is not the registry's.
type pacedBody struct {
	io.ReadCloser
	clock  system.Clock
	ctx    context.Context
	cancel context.CancelCauseFunc

	mu      sync.Mutex
	reading bool
	since   time.Time     // what is waited for is counted, while reading
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

// count what has been waited since it was last counted.
func (b *pacedBody) count() {
	now := b.clock.Now()
	if b.reading {
		b.waited += now.Sub(b.since)
	}
	b.since = now
}

// watch ends with the answer.
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

// judge reports whether enough came in a period that is over, and when to look again.
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
