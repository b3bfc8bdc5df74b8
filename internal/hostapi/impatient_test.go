// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package hostapi_test

import (
	"context"
	"net/http"
	"sync/atomic"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/hostapi"
)

// lateReader reads a registration, once late is set, only when the spec lets it.
type lateReader struct {
	client.Reader
	late   atomic.Bool
	reads  chan context.Context
	answer chan struct{}
}

func (l *lateReader) Get(ctx context.Context, key client.ObjectKey, object client.Object, options ...client.GetOption) error {
	if _, is := object.(*infrav1.ElementalRegistration); is && l.late.Load() {
		l.reads <- ctx
		select {
		case <-l.answer:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return l.Reader.Get(ctx, key, object, options...)
}

var _ = Describe("An agent that does not wait for the answer", func() {
	It("has its host created, so that it uses up one registration", func(ctx SpecContext) {
		reads := &lateReader{reads: make(chan context.Context, 1), answer: make(chan struct{})}
		started := startAPI(func(options *hostapi.Options) {
			reads.Reader = options.APIReader
			options.APIReader = reads
		})
		server := &replica{api: started, by: newHTTPClient(started), clock: clocktesting.NewFakeClock(time.Now())}
		endpoint := server.open(ctx, func(*infrav1.ElementalRegistrationSpec) {})
		host := newMachine(endpoint, "m-1")
		reads.late.Store(true)

		impatient, leave := context.WithCancel(ctx)
		status := make(chan int)
		go func() { status <- server.register(impatient, host, host.create()).status }()
		var read context.Context
		Eventually(reads.reads).Should(Receive(&read))
		leave()
		Eventually(status).Should(Receive(BeZero()), "the request was cancelled")
		Consistently(read.Err, "300ms").Should(Succeed())
		close(reads.answer)

		key := client.ObjectKey{Namespace: endpoint.Namespace, Name: host.name}
		Eventually(func() error { return plane.Client.Get(ctx, key, &infrav1.ElementalHost{}) }).Should(Succeed())
		reads.late.Store(false)
		Expect(server.register(ctx, host, host.create()).status).To(Equal(http.StatusCreated))
	})
})
