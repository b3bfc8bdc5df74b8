// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package hostapi_test

import (
	"context"
	"crypto/ed25519"
	"net/http"
	"strings"
	"time"

	"github.com/golang-jwt/jwt/v5"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/hostapi/apitest"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/wire"
)

// formerClaims are those of a host token of version 0.7.
func formerClaims(m *machine) jwt.RegisteredClaims {
	now := time.Now()
	return jwt.RegisteredClaims{
		Issuer: "elemental-agent/v0.7.0", Subject: m.name, Audience: jwt.ClaimStrings{m.endpoint.URI}, IssuedAt: jwt.NewNumericDate(now),
		NotBefore: jwt.NewNumericDate(now.Add(-2 * time.Second)), ExpiresAt: jwt.NewNumericDate(now.Add(time.Minute)),
	}
}

func formerToken(key ed25519.PrivateKey, claims jwt.RegisteredClaims) header {
	GinkgoHelper()
	signed, err := jwt.NewWithClaims(jwt.SigningMethodEdDSA, claims).SignedString(key)
	Expect(err).NotTo(HaveOccurred())
	return header{wire.HostHeader, "Bearer " + signed}
}

// patchAs does what the loop of version 0.7 does, with the most that a request of that version can contain.
func (m *machine) patchAs(ctx context.Context, headers ...header) {
	GinkgoHelper()
	patch := map[string]any{
		"phase": "Running", "labels": map[string]string{infrav1.InstalledLabel: "true"}, "installed": true, "inPlaceUpdate": "done",
	}
	refused := request(ctx, shared, http.MethodPatch, m.url(""), patch, headers...)
	Expect(refused.status).To(Equal(http.StatusGone))
	Expect(refused.message()).To(ContainSubstring("this agent is older than the API, install the elemental-agent of the API's release"))
}

var _ = Describe("An agent of version 0.7", func() {
	var (
		endpoint *apitest.RegistrationEndpoint
		host     *machine
	)
	BeforeEach(func(ctx SpecContext) {
		endpoint = openRegistration(ctx, nil)
		host = registered(ctx, endpoint, "m-1")
	})
	former := func() header { return formerToken(host.key, formerClaims(host)) }

	It("is told that it is too old, which is recorded once, and nothing else of it is believed", func(ctx SpecContext) {
		before := host.object(ctx)
		host.patchAs(ctx, former())
		recorded := host.object(ctx)
		Expect(recorded.Status.Agent).To(And(HaveField("Outdated", BeTrue()), HaveField("Version", "v0.7.0"), HaveField("LastSeen.IsZero()", BeFalse())))
		Expect(recorded.Labels).To(Equal(before.Labels))
		Expect(recorded.Spec).To(Equal(before.Spec))
		recorded.Status.Agent = infrav1.HostAgent{}
		Expect(recorded.Status).To(Equal(before.Status))

		version := host.object(ctx).ResourceVersion
		host.patchAs(ctx, former())
		Expect(host.object(ctx).ResourceVersion).To(Equal(version))
	})

	It("is forgotten with the first report of a current agent, and deletes nothing of such a report", func(ctx SpecContext) {
		host.change(ctx, func(object *infrav1.ElementalHost) { object.Spec.Approved = true })
		Eventually(func() bool { return into[wire.Desired](host.get(ctx, "/desired")).Approved }).Should(BeTrue())
		host.patchAs(ctx, former())
		Expect(host.object(ctx).Status.Agent.Outdated).To(BeTrue())
		Expect(host.report(ctx, everything()).status).To(Equal(http.StatusNoContent))
		current := host.object(ctx).Status
		Expect(current.Agent).To(And(HaveField("Outdated", BeFalse()), HaveField("Version", everything().AgentVersion)))

		By("a host that fell back to an OS with the former agent")
		host.patchAs(ctx, former())
		now := host.object(ctx).Status
		Expect(now.Agent).To(And(HaveField("Outdated", BeTrue()), HaveField("Version", "v0.7.0")))
		now.Agent = current.Agent
		Expect(now).To(Equal(current))
	})

	DescribeTable("is not recorded unless its host has signed the request:",
		func(ctx SpecContext, headers func() []header) {
			before := host.object(ctx)
			host.patchAs(ctx, headers()...)
			Expect(host.object(ctx).ResourceVersion).To(Equal(before.ResourceVersion))
		},
		Entry("nobody has", func() []header { return nil }),
		Entry("the registration's token says nothing about a host", func() []header { return []header{asRegistration(endpoint)} }),
		Entry("another key has", func() []header {
			return []header{formerToken(newMachine(endpoint, "m-1").key, formerClaims(host))}
		}),
		Entry("the token is for another registration", func() []header {
			claims := formerClaims(host)
			claims.Audience = jwt.ClaimStrings{endpoint.URI + "-2"}
			return []header{formerToken(host.key, claims)}
		}),
		Entry("the token has expired", func() []header {
			claims := formerClaims(host)
			claims.ExpiresAt = jwt.NewNumericDate(time.Now().Add(-wire.ClockSkew - time.Minute))
			return []header{formerToken(host.key, claims)}
		}),
	)

	DescribeTable("has no version if its token has",
		func(ctx SpecContext, issuer string) {
			claims := formerClaims(host)
			claims.Issuer = issuer
			host.patchAs(ctx, formerToken(host.key, claims))
			Expect(host.object(ctx).Status.Agent).To(And(HaveField("Outdated", BeTrue()), HaveField("Version", "0.7 or older")))
		},
		Entry("no issuer", ""),
		Entry("another issuer", "somebody/v1"),
		Entry("an issuer without a version", "elemental-agent/"),
		Entry("one that is too long", "elemental-agent/"+strings.Repeat("1", 257)),
		Entry("one that would move a terminal", "elemental-agent/v0.7\x1b[2J"),
	)

	It("can read its registration and make its host, which waits for approval", func(ctx SpecContext) {
		endpoint = openRegistration(ctx, func(spec *infrav1.ElementalRegistrationSpec) { spec.HostLabels = map[string]string{"rack": "r1"} })
		Expect(get(ctx, endpoint, "", asRegistration(endpoint)).status).To(Equal(http.StatusOK))
		host = newMachine(endpoint, "m-b5cc6b1d")
		// As it sends them: with what the registration told it.
		body := map[string]any{"name": host.name, "labels": map[string]string{"rack": "r1"}, "annotations": map[string]string{}, "pubKey": host.pubKey()}
		made := request(ctx, shared, http.MethodPost, endpoint.URI+"/hosts", body, asRegistration(endpoint), host.auth())
		Expect(made.status).To(Equal(http.StatusCreated))
		Expect(host.object(ctx).Spec.Approved).To(BeFalse())
	})
})
