// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package hostapi_test

import (
	"net/http"
	"os"
	"path/filepath"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/hostapi"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/wire"
)

var _ = Describe("What a host is to know the API by", func() {
	write := func(content string) {
		GinkgoHelper()
		Expect(os.WriteFile(filepath.Join(certDir, "ca.crt"), []byte(content), 0o600)).To(Succeed())
	}

	It("is the manager's own file as it is then, whatever a registration says", func(ctx SpecContext) {
		endpoint := openRegistration(ctx, func(spec *infrav1.ElementalRegistrationSpec) {
			spec.Config.Elemental.Registration.CACert = "of somebody else"
		})
		host := registered(ctx, endpoint, "m-1")
		DeferCleanup(write, string(api.CA))
		for _, bundle := range []string{string(api.CA), string(api.CA) + string(api.CA)} {
			write(bundle)
			Expect(into[wire.Authorities](host.get(ctx, "/authorities"))).To(Equal(wire.Authorities{CACert: bundle}))
		}
		Expect(newMachine(endpoint, "m-1").get(ctx, "/authorities").status).To(Equal(http.StatusUnauthorized), "with another key")

		Expect(os.Remove(filepath.Join(certDir, "ca.crt"))).To(Succeed())
		Expect(host.get(ctx, "/authorities").status).To(Equal(http.StatusNotFound))
		write("")
		Expect(host.get(ctx, "/authorities").status).To(Equal(http.StatusNotFound))
		write("no certificate")
		Expect(host.get(ctx, "/authorities").status).To(Equal(http.StatusInternalServerError))
		_, err := hostapi.Authorities(certDir)
		Expect(err).To(MatchError(HaveSuffix("ca.crt holds no PEM-encoded certificate")))
	})
})
