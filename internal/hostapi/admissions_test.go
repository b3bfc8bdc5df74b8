// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package hostapi_test

import (
	"context"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/types"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/hostapi"
)

var _ = Describe("Admissions", func() {
	It("of one registration do not hold up another", func(ctx SpecContext) {
		begin, registrations := hostapi.Admissions()
		greedy, other := types.NamespacedName{Namespace: "n", Name: "greedy"}, types.NamespacedName{Namespace: "n", Name: "other"}
		ends := []func(){}
		for range hostapi.MaxShare {
			done, err := begin(ctx, greedy)
			Expect(err).NotTo(HaveOccurred())
			ends = append(ends, done)
		}
		gaveUp, giveUp := context.WithCancel(ctx)
		waits := make(chan error)
		go func() {
			defer GinkgoRecover()
			_, err := begin(gaveUp, greedy)
			waits <- err
		}()
		Consistently(waits, "100ms").ShouldNot(Receive())

		done, err := begin(ctx, other)
		Expect(err).NotTo(HaveOccurred())
		done()
		giveUp()
		Eventually(waits).Should(Receive(MatchError(context.Canceled)))

		By("going on with the next where one is done")
		ends[0]()
		ends[0], err = begin(ctx, greedy)
		Expect(err).NotTo(HaveOccurred())
		for _, done := range ends {
			done()
		}
		Expect(registrations()).To(BeZero(), "forgotten")
	})
})
