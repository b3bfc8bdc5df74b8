// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package hostapi_test

import (
	"context"
	"errors"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/hostapi"
)

// secrets counts the reads of signing keys, and may be out of order.
type secrets struct {
	client.Reader
	reads  int
	broken error
}

func (s *secrets) Get(ctx context.Context, key client.ObjectKey, object client.Object, options ...client.GetOption) error {
	s.reads++
	if s.broken != nil {
		return s.broken
	}
	return s.Reader.Get(ctx, key, object, options...)
}

var _ = Describe("The key that a registration's tokens are verified with", func() {
	var (
		registration *infrav1.ElementalRegistration
		live         *secrets
		clock        *clocktesting.FakePassiveClock
		ask          func(context.Context) error
	)

	BeforeEach(func(ctx SpecContext) {
		endpoint := openRegistration(ctx, nil)
		registration = &infrav1.ElementalRegistration{}
		Expect(plane.Client.Get(ctx, client.ObjectKey{Namespace: endpoint.Namespace, Name: endpoint.Name}, registration)).To(Succeed())
		live = &secrets{Reader: plane.Client}
		clock = clocktesting.NewFakePassiveClock(time.Now())
		keys := hostapi.VerificationKeys(live, clock)
		ask = func(ctx context.Context) error {
			key, err := keys(ctx, registration)
			if err == nil {
				Expect(key).NotTo(BeEmpty())
			}
			return err
		}
	})

	It("is read for all, even when the one who asks hangs up", func(ctx SpecContext) {
		hungUp, hangUp := context.WithCancel(ctx)
		hangUp()
		Expect(ask(hungUp)).To(Succeed())
		Expect(ask(ctx)).To(Succeed())
		Expect(live.reads).To(Equal(1))
	})

	It("is read again at once when the registration has changed, as it does with each new token", func(ctx SpecContext) {
		Expect(ask(ctx)).To(Succeed())
		registration.Status.TokenExpirationTime = metav1.Now()
		Expect(plane.Client.Status().Update(ctx, registration)).To(Succeed())
		Expect(ask(ctx)).To(Succeed())
		Expect(live.reads).To(Equal(2))
	})

	It("is looked for again soon when the API server could not answer, but not by every caller", func(ctx SpecContext) {
		live.broken = errors.New("connection refused")
		Expect(ask(ctx)).To(MatchError(live.broken))
		live.broken = nil
		Expect(ask(ctx)).To(MatchError(ContainSubstring("connection refused")), "within the second")
		Expect(live.reads).To(Equal(1))
		clock.SetTime(clock.Now().Add(1100 * time.Millisecond))
		Expect(ask(ctx)).To(Succeed())
		Expect(live.reads).To(Equal(2))
	})

	It("is believed for half a minute not to be there", func(ctx SpecContext) {
		live.broken = apierrors.NewNotFound(infrav1.GroupVersion.WithResource("secrets").GroupResource(), "edge")
		Expect(hostapi.StatusOf(ask(ctx))).To(Equal(503))
		clock.SetTime(clock.Now().Add(29 * time.Second))
		Expect(hostapi.StatusOf(ask(ctx))).To(Equal(503))
		Expect(live.reads).To(Equal(1))
		live.broken = nil
		clock.SetTime(clock.Now().Add(2 * time.Second))
		Expect(ask(ctx)).To(Succeed())
	})
})
