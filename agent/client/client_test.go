// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package client_test

import (
	"context"
	"crypto/tls"
	"net/http"
	"net/http/httptest"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/agent/apitest"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/agent/client"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/agent/config"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/agent/identity"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/agent/retry"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/agent/system"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/wire"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/pki"
)

var _ = Describe("A client", func() {
	var (
		api  *apitest.API
		host *identity.Identity
	)
	ctx := context.Background()

	settings := func() config.Config {
		return config.Config{Registration: config.Registration{URI: api.URI(), CACert: api.CACert()}}
	}
	connect := func(token string) *client.Client {
		GinkgoHelper()
		transport, err := client.NewTransport(settings())
		Expect(err).NotTo(HaveOccurred())
		DeferCleanup(transport.CloseIdleConnections)
		return client.New(client.Options{URI: api.URI(), Token: token, Identity: host, Transport: transport, Clock: system.WallClock{}})
	}

	BeforeEach(func() {
		api = apitest.New()
		DeferCleanup(api.Close)
		var err error
		host, err = identity.Load(system.NewHost(GinkgoT().TempDir()), GinkgoT().TempDir(), config.Hostname{Prefix: "m-"})
		Expect(err).NotTo(HaveOccurred())
	})

	It("registers the same host however often it asks", func() {
		c := connect(apitest.Token)
		Expect(c.Register(ctx)).To(Succeed())
		Expect(c.Register(ctx)).To(Succeed())
		Expect(api.Hosts()).To(Equal([]string{host.Name}))
	})

	It("is refused with the wrong token", func() {
		err := connect("wrong").Register(ctx)
		Expect(err).To(MatchError(client.ErrUnauthorized))
		Expect(err).To(MatchError(ContainSubstring("registering the host: the Elemental API answered 401: wrong token")))
	})

	It("trusts no other certificate authority than the registration's", func() {
		other := apitest.New()
		DeferCleanup(other.Close)
		foreign := settings()
		foreign.Registration.CACert = ""
		transport, err := client.NewTransport(foreign)
		Expect(err).NotTo(HaveOccurred())
		c := client.New(client.Options{URI: other.URI(), Token: apitest.Token, Identity: host, Transport: transport, Clock: system.WallClock{}})
		Expect(c.Register(ctx)).To(MatchError(ContainSubstring("certificate")))
	})

	It("takes no authorities from an API that it has not verified", func() {
		unverified := settings()
		unverified.Agent.InsecureSkipTLSVerify = true
		transport, err := client.NewTransport(unverified)
		Expect(err).NotTo(HaveOccurred())
		c := client.New(client.Options{URI: api.URI(), Token: apitest.Token, Identity: host, Transport: transport, Clock: system.WallClock{}})
		Expect(c.Register(ctx)).To(Succeed())
		api.HandOut(api.CACert())
		_, err = c.Authorities(ctx)
		Expect(err).To(And(MatchError(client.ErrUnusableAuthorities), MatchError(ContainSubstring("is not verified"))))
		Expect(connect(apitest.Token).Authorities(ctx)).To(Equal(api.CACert()))
	})

	It("judges authorities by the certificate that the API has now, not by that of a session that goes on", func() {
		next, err := pki.NewAuthority("next")
		Expect(err).NotTo(HaveOccurred())
		pair, err := next.Server("api", "127.0.0.1")
		Expect(err).NotTo(HaveOccurred())
		certificate, err := tls.X509KeyPair(pair.CertPEM, pair.KeyPEM)
		Expect(err).NotTo(HaveOccurred())
		both := settings()
		both.Registration.CACert += string(next.CertPEM)
		transport, err := client.NewTransport(both)
		Expect(err).NotTo(HaveOccurred())
		DeferCleanup(transport.CloseIdleConnections)
		c := client.New(client.Options{URI: api.URI(), Token: apitest.Token, Identity: host, Transport: transport, Clock: system.WallClock{}})
		Expect(c.Register(ctx)).To(Succeed())
		api.Resume()
		api.Present(certificate)
		api.HandOut(string(next.CertPEM))
		Expect(c.Authorities(ctx)).To(Equal(string(next.CertPEM)))
	})

	It("holds a request until something else is desired", func() {
		c := connect(apitest.Token)
		Expect(c.Register(ctx)).To(Succeed())
		desired, changed, err := c.Desired(ctx, "", time.Minute)
		Expect(err).NotTo(HaveOccurred())
		Expect(changed).To(BeTrue())
		answers := make(chan wire.Desired, 1)
		go func() {
			defer GinkgoRecover()
			next, changed, err := c.Desired(ctx, desired.Revision, time.Minute)
			Expect(err).NotTo(HaveOccurred())
			Expect(changed).To(BeTrue())
			answers <- next
		}()
		Eventually(api.Held).Should(Equal(1))
		api.Desire(host.Name, wire.Desired{Approved: true})
		Eventually(answers).Should(Receive(HaveField("Approved", true)))
	})

	It("takes what is desired from an API that is newer, without what it does not know", func() {
		newer := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			_, _ = w.Write([]byte(`{"revision":"2","approved":true,"new":{"x":1},"upgrade":{"attempt":"a1","apply":true,"new":[]}}`))
		}))
		DeferCleanup(newer.Close)
		c := client.New(client.Options{URI: newer.URL, Identity: host, Transport: &http.Transport{DisableKeepAlives: true}, Clock: system.WallClock{}})
		desired, changed, err := c.Desired(ctx, "1", time.Minute)
		Expect(err).NotTo(HaveOccurred())
		Expect(changed).To(BeTrue())
		Expect(desired).To(Equal(wire.Desired{Revision: "2", Approved: true, Upgrade: &wire.Upgrade{Attempt: "a1", Apply: true}}))
	})

	It("tells when the wait has passed without news", func() {
		c := connect(apitest.Token)
		Expect(c.Register(ctx)).To(Succeed())
		_, changed, err := c.Desired(ctx, "new", time.Millisecond)
		Expect(err).NotTo(HaveOccurred())
		Expect(changed).To(BeFalse())
	})

	It("ends a request that hangs with its context", func() {
		c := connect(apitest.Token)
		api.Slow(true)
		bounded, cancel := context.WithTimeout(ctx, 50*time.Millisecond)
		defer cancel()
		Expect(c.Register(bounded)).To(MatchError(context.DeadlineExceeded))
	})

	DescribeTable("has an error for every answer",
		func(status int, expected error) {
			c := connect(apitest.Token)
			Expect(c.Register(ctx)).To(Succeed())
			api.Fail(status)
			_, changed, err := c.Desired(ctx, "", time.Minute)
			Expect(err).To(MatchError(expected))
			Expect(changed).To(BeFalse())
		},
		Entry("302: tokens are not sent anywhere else", 302, client.ErrRefused),
		Entry("400", 400, client.ErrRefused),
		Entry("401", 401, client.ErrUnauthorized),
		Entry("403", 403, client.ErrForbidden),
		Entry("404", 404, client.ErrNotFound),
		Entry("409", 409, client.ErrConflict),
		Entry("429", 429, client.ErrTooMany),
		Entry("500", 500, client.ErrUnavailable),
		Entry("503", 503, client.ErrUnavailable),
	)

	It("tells when the API asks to come back", func() {
		c := connect(apitest.Token)
		api.Fail(429)
		Expect(retry.Asked(c.Register(ctx))).To(Equal(apitest.ComeBack))
		api.Fail(400)
		Expect(retry.Asked(c.Register(ctx))).To(BeZero())
	})

	It("reports, bootstraps and deletes", func() {
		c := connect(apitest.Token)
		Expect(c.Register(ctx)).To(Succeed())
		Expect(c.Report(ctx, wire.Report{Phase: "Running"})).To(Succeed())
		Expect(api.Last(host.Name).Phase).To(Equal("Running"))

		_, err := c.Bootstrap(ctx)
		Expect(err).To(MatchError(client.ErrNotFound))
		api.SetBootstrap(&wire.Bootstrap{Format: "cloud-config", Config: "x"})
		Expect(c.Bootstrap(ctx)).To(Equal(wire.Bootstrap{Format: "cloud-config", Config: "x"}))

		api.SetConfig(`{"elemental":{}}`)
		Expect(c.Registration(ctx)).To(HaveField("Config", MatchJSON(`{"elemental":{}}`)))

		api.SetConfig(`{"elemental":{"reset":{"resetOem":true}}}`)
		Expect(c.ResetOptions(ctx)).To(HaveField("Options", MatchJSON(`{"resetOem":true}`)))
		Expect(c.Delete(ctx)).To(Succeed())
		Expect(api.Hosts()).NotTo(BeEmpty(), "the host has not been wiped yet")
		Expect(c.Wiped(ctx)).To(Succeed())
		Expect(api.Hosts()).To(BeEmpty())
		Expect(c.Delete(ctx)).To(Succeed(), "a host that is gone is what was wanted")
		Expect(c.Wiped(ctx)).To(Succeed())
	})

	It("does not believe a certificate that cannot be read", func() {
		broken := settings()
		broken.Registration.CACert = "x"
		_, err := client.NewTransport(broken)
		Expect(err).To(MatchError(ContainSubstring("registration.caCert holds no usable PEM certificate")))
	})
})
