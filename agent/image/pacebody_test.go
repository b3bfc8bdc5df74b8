// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package image

import (
	"context"
	"io"
	"net/http"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/agent/system/systemtest"
)

// answers stands for a registry that has sent a short answer, and keeps the context of the request.
type answers struct{ request context.Context }

func (a *answers) RoundTrip(request *http.Request) (*http.Response, error) {
	a.request = request.Context()
	return &http.Response{StatusCode: http.StatusOK, Body: io.NopCloser(strings.NewReader("all of it"))}, nil
}

var _ = Describe("A host that takes its time to write what a registry sent", func() {
	It("does not have the registry given up", func(ctx SpecContext) {
		clock, registry := systemtest.NewClock(), &answers{}
		clock.Manual = true
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, "https://registry.example.com/v2/", nil)
		Expect(err).NotTo(HaveOccurred())
		response, err := paced{RoundTripper: registry, clock: clock}.RoundTrip(request)
		Expect(err).NotTo(HaveOccurred())
		defer response.Body.Close()
		Expect(io.ReadFull(response.Body, make([]byte, 3))).To(Equal(3))

		By("writing that for ten minutes")
		for range 10 {
			looked := len(clock.Slept())
			clock.Advance(time.Minute)
			Eventually(func() bool { return len(clock.Slept()) > looked || registry.request.Err() != nil }).Should(BeTrue(), "it is looked at")
			Expect(context.Cause(registry.request)).NotTo(HaveOccurred())
		}
		Expect(io.ReadAll(response.Body)).To(BeEquivalentTo(" of it"))
	})
})
