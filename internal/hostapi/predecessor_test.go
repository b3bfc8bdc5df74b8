// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package hostapi_test

import (
	"net/http"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
)

var _ = Describe("An agent of version 0.7", func() {
	It("is told, in answer to what its loop does, that it is too old", func(ctx SpecContext) {
		endpoint := openRegistration(ctx, nil)
		host := registered(ctx, endpoint, "m-1")
		before := host.object(ctx)
		patch := map[string]any{
			"phase": "Running", "labels": map[string]string{infrav1.InstalledLabel: "true"}, "installed": true, "inPlaceUpdate": "done",
		}
		refused := request(ctx, shared, http.MethodPatch, endpoint.URI+"/hosts/m-1", patch, asRegistration(endpoint), host.auth())
		Expect(refused.status).To(Equal(http.StatusGone))
		Expect(refused.message()).To(ContainSubstring("this agent is older than the API, install the elemental-agent of the API's release"))
		Expect(host.object(ctx).ResourceVersion).To(Equal(before.ResourceVersion), "nothing of it is believed")
	})

	It("can read its registration and make its host, which waits for approval", func(ctx SpecContext) {
		endpoint := openRegistration(ctx, func(spec *infrav1.ElementalRegistrationSpec) { spec.HostLabels = map[string]string{"rack": "r1"} })
		Expect(get(ctx, endpoint, "", asRegistration(endpoint)).status).To(Equal(http.StatusOK))
		host := newMachine(endpoint, "m-b5cc6b1d")
		// As it sends them: with what the registration told it.
		body := map[string]any{"name": host.name, "labels": map[string]string{"rack": "r1"}, "annotations": map[string]string{}, "pubKey": host.pubKey()}
		made := request(ctx, shared, http.MethodPost, endpoint.URI+"/hosts", body, asRegistration(endpoint), host.auth())
		Expect(made.status).To(Equal(http.StatusCreated))
		Expect(host.object(ctx).Spec.Approved).To(BeFalse())
	})
})
