// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package image

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/agent/system"
)

// What a registry has to send of an answer in each period until the answer is complete. A registry that sends a byte now and
// then is no time-out of a connection, and would hold an attempt for ever. At this pace a GiB takes 17 hours.
const (
	paceBytes  = 1 << 20
	pacePeriod = time.Minute
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
	body := &pacedBody{ReadCloser: response.Body, ctx: ctx, cancel: cancel}
	go body.watch(p.clock, p.clock.After(pacePeriod))
	response.Body = body
	return response, nil
}

type pacedBody struct {
	io.ReadCloser
	ctx    context.Context
	cancel context.CancelCauseFunc
	came   atomic.Int64
}

// Read implements io.Reader.
func (b *pacedBody) Read(into []byte) (int, error) {
	n, err := b.ReadCloser.Read(into)
	b.came.Add(int64(n))
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

// watch ends with the answer.
func (b *pacedBody) watch(clock system.Clock, due <-chan time.Time) {
	for {
		select {
		case <-b.ctx.Done():
			return
		case <-due:
		}
		if b.came.Swap(0) < paceBytes {
			b.cancel(errTooSlow)
			return
		}
		due = clock.After(pacePeriod)
	}
}
