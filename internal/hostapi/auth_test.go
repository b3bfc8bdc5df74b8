// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package hostapi_test

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/golang-jwt/jwt/v5"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/hostapi/apitest"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/token"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/wire"
)

// caller is somebody at the API: a host m-1 with a neighbour, and a stranger's registration.
type caller struct {
	endpoint, other *apitest.RegistrationEndpoint
	host            *machine
	neighbour       *machine
}

func newCaller(ctx context.Context) *caller {
	GinkgoHelper()
	endpoint, other := openRegistration(ctx, nil), openRegistration(ctx, nil)
	hosts := hostsOf(ctx, endpoint, "m-1", "m-2")
	return &caller{endpoint: endpoint, other: other, host: hosts[0], neighbour: hosts[1]}
}

// claims of a good host token.
func (c *caller) claims() jwt.MapClaims {
	now := time.Now()
	return jwt.MapClaims{"sub": "m-1", "aud": c.endpoint.URI, "iat": now.Unix(), "exp": now.Add(wire.HostTokenLifetime).Unix()}
}

func sign(method jwt.SigningMethod, claims jwt.MapClaims, key any) string {
	GinkgoHelper()
	raw, err := jwt.NewWithClaims(method, claims).SignedString(key)
	Expect(err).NotTo(HaveOccurred())
	return "Bearer " + raw
}

// with signs the good claims but for one that is changed, or removed when it is nil.
func (c *caller) with(claim string, value any) string {
	GinkgoHelper()
	claims := c.claims()
	claims[claim] = value
	if value == nil {
		delete(claims, claim)
	}
	return sign(jwt.SigningMethodEdDSA, claims, c.host.key)
}

var report = wire.Report{Phase: wire.HostRunning, OS: wire.OS{BootID: "b-1"}}

var _ = Describe("A request without the right", func() {
	// Each token is tried on every route of a host: one that forgot to ask would stand out.
	DescribeTable("of a host is refused and changes nothing",
		func(ctx SpecContext, credentials func(*caller) string, want int) {
			who := newCaller(ctx)
			before := world(ctx, who.endpoint.Namespace)
			auth := header{wire.HostHeader, credentials(who)}
			for _, answer := range []answer{
				request(ctx, shared, http.MethodGet, who.host.url("/desired?wait=10s"), nil, auth),
				request(ctx, shared, http.MethodGet, who.host.url("/bootstrap"), nil, auth),
				request(ctx, shared, http.MethodPost, who.host.url("/report"), report, auth),
				request(ctx, shared, http.MethodDelete, who.host.url(""), nil, auth),
			} {
				Expect(answer.status).To(Equal(want), "body %s", answer.body)
				Expect(answer.message()).To(ContainSubstring("host token"))
			}
			Expect(world(ctx, who.endpoint.Namespace)).To(Equal(before))
		},
		Entry("no token", func(*caller) string { return "" }, 401),
		Entry("another scheme", func(*caller) string { return "Basic bTox" }, 401),
		Entry("no JWT", func(*caller) string { return "Bearer abc" }, 401),
		Entry("the registration's token", func(c *caller) string { return "Bearer " + c.endpoint.Token }, 403),
		Entry("another key", func(c *caller) string { return sign(jwt.SigningMethodEdDSA, c.claims(), c.neighbour.key) }, 401),
		Entry("the neighbour's name", func(c *caller) string { return c.with("sub", "m-2") }, 403),
		Entry("the neighbour's token", func(c *caller) string { return c.neighbour.auth().value }, 403),
		Entry("no sub", func(c *caller) string { return c.with("sub", nil) }, 401),
		Entry("another aud", func(c *caller) string { return c.with("aud", "https://example.com") }, 403),
		Entry("the aud of another namespace", func(c *caller) string { return c.with("aud", c.other.URI) }, 403),
		Entry("no aud", func(c *caller) string { return c.with("aud", nil) }, 401),
		Entry("no exp", func(c *caller) string { return c.with("exp", nil) }, 401),
		Entry("expired", func(c *caller) string { return c.with("exp", time.Now().Add(-3*time.Minute).Unix()) }, 401),
		Entry("not valid yet", func(c *caller) string { return c.with("nbf", time.Now().Add(3*time.Minute).Unix()) }, 401),
		Entry("good for an hour", func(c *caller) string { return c.with("exp", time.Now().Add(time.Hour).Unix()) }, 401),
		Entry("not signed", func(c *caller) string {
			return sign(jwt.SigningMethodNone, c.claims(), jwt.UnsafeAllowNoneSignatureType)
		}, 401),
		Entry("HMAC with the public key", func(c *caller) string {
			return sign(jwt.SigningMethodHS256, c.claims(), []byte(c.host.pubKey()))
		}, 401),
		Entry("endless", func(*caller) string { return "Bearer " + strings.Repeat("a", 8000) }, 401),
	)

	DescribeTable("to register is refused and changes nothing",
		func(ctx SpecContext, credentials func(*caller, *machine) []header, want int) {
			who := newCaller(ctx)
			fresh := newMachine(who.endpoint, "m-3")
			before := world(ctx, who.endpoint.Namespace)
			answer := request(ctx, shared, http.MethodPost, who.endpoint.URI+"/hosts", fresh.create(), credentials(who, fresh)...)
			Expect(answer.status).To(Equal(want), "body %s", answer.body)
			answer.message()
			Expect(world(ctx, who.endpoint.Namespace)).To(Equal(before))
		},
		Entry("no tokens", func(*caller, *machine) []header { return nil }, 401),
		Entry("no registration token", func(_ *caller, m *machine) []header { return []header{m.auth()} }, 401),
		Entry("no host token", func(c *caller, _ *machine) []header { return []header{asRegistration(c.endpoint)} }, 401),
		Entry("a host token in place of the registration's", func(c *caller, m *machine) []header {
			return []header{{wire.RegistrationHeader, m.auth().value}, m.auth()}
		}, 403),
		Entry("another registration's token", func(c *caller, m *machine) []header {
			return []header{asRegistration(c.other), m.auth()}
		}, 403),
		Entry("a token for this registration, signed with another's key", func(c *caller, m *machine) []header {
			raw, err := token.SignRegistrationToken(c.other.SigningKey, c.endpoint.URI, time.Now(), time.Hour)
			Expect(err).NotTo(HaveOccurred())
			return []header{{wire.RegistrationHeader, "Bearer " + raw}, m.auth()}
		}, 401),
		Entry("an expired registration token", func(c *caller, m *machine) []header {
			raw, err := token.SignRegistrationToken(c.endpoint.SigningKey, c.endpoint.URI, time.Now().Add(-time.Hour), time.Minute)
			Expect(err).NotTo(HaveOccurred())
			return []header{{wire.RegistrationHeader, "Bearer " + raw}, m.auth()}
		}, 401),
		Entry("a registration token without exp, as the predecessor's", func(c *caller, m *machine) []header {
			key, err := token.ParseSigningKey(c.endpoint.SigningKey)
			Expect(err).NotTo(HaveOccurred())
			raw := sign(jwt.SigningMethodEdDSA, jwt.MapClaims{"sub": c.endpoint.URI, "aud": c.endpoint.URI}, key)
			return []header{{wire.RegistrationHeader, raw}, m.auth()}
		}, 401),
		Entry("a host token signed with another key than the one in the body", func(c *caller, m *machine) []header {
			return []header{asRegistration(c.endpoint), newMachine(c.endpoint, m.name).auth()}
		}, 401),
		Entry("a host token of another name", func(c *caller, m *machine) []header {
			return []header{asRegistration(c.endpoint), c.host.auth()}
		}, 403),
	)

	It("is refused below a registration that the host did not come through", func(ctx SpecContext) {
		who := newCaller(ctx)
		who.host.change(ctx, func(object *infrav1.ElementalHost) {
			object.Annotations[infrav1.RegistrationNameAnnotation] = "core"
		})
		Eventually(func() int { return who.host.get(ctx, "/desired").status }).Should(Equal(http.StatusForbidden))
		Expect(who.host.report(ctx, report).status).To(Equal(http.StatusForbidden))
	})

	It("that was overheard has no further effect when it is sent again", func(ctx SpecContext) {
		who := newCaller(ctx)
		former := who.host.auth()
		send := func(method, path string, body any) int {
			return request(ctx, shared, method, who.host.url(path), body, former).status
		}
		Expect(send(http.MethodPost, "/report", report)).To(Equal(http.StatusNoContent))
		before := world(ctx, who.endpoint.Namespace)
		Expect(send(http.MethodPost, "/report", report)).To(Equal(http.StatusNoContent))
		Expect(world(ctx, who.endpoint.Namespace)).To(Equal(before), "said twice is said once")

		By("sending it in the next life of the host's name")
		who.host.remove(ctx)
		registered(ctx, who.endpoint, "m-1")
		before = world(ctx, who.endpoint.Namespace)
		Expect(send(http.MethodPost, "/report", report)).To(Equal(http.StatusUnauthorized))
		Expect(send(http.MethodDelete, "", nil)).To(Equal(http.StatusUnauthorized))
		Expect(world(ctx, who.endpoint.Namespace)).To(Equal(before))
	})

	It("is told apart: unknown host, registration and path", func(ctx SpecContext) {
		endpoint := openRegistration(ctx, nil)
		stranger := newMachine(endpoint, "m-9")
		unknown := stranger.get(ctx, "/desired")
		Expect(unknown.status).To(Equal(http.StatusNotFound))
		Expect(unknown.message()).To(ContainSubstring("host m-9 is not known"))

		nowhere := request(ctx, shared, http.MethodGet, endpoint.URI+"x", nil, asRegistration(endpoint))
		Expect(nowhere.status).To(Equal(http.StatusNotFound))
		Expect(nowhere.message()).To(ContainSubstring("no registration edgex"))

		for _, path := range []string{"/", "/elemental/v1", "/healthz"} {
			lost := request(ctx, shared, http.MethodGet, api.Endpoint+path, nil)
			Expect(lost.status).To(Equal(http.StatusNotFound))
			lost.message()
		}
		// A name that no object has does not reach the API server.
		odd := request(ctx, shared, http.MethodGet, endpoint.URI+"/hosts/m%2F1/desired", nil, stranger.auth())
		Expect(odd.status).To(Equal(http.StatusNotFound))
		Expect(odd.message()).To(ContainSubstring(`no host can have the name "m/1"`))
	})

	It("is told the methods that there are, and that hosts are not patched any more", func(ctx SpecContext) {
		who := newCaller(ctx)
		wrong := request(ctx, shared, http.MethodPut, who.host.url("/report"), report, who.host.auth())
		Expect(wrong.status).To(Equal(http.StatusMethodNotAllowed))
		Expect(wrong.header.Get("Allow")).To(Equal("POST"))
		wrong.message()

		old := request(ctx, shared, http.MethodPatch, who.host.url(""), `{"phase":"Running"}`, who.host.auth())
		Expect(old.status).To(Equal(http.StatusGone))
		Expect(old.message()).To(ContainSubstring("older than the API"))
	})
})

var _ = Describe("A body that is not right", func() {
	const unknownField = "unknown field"
	var who *caller
	BeforeEach(func(ctx SpecContext) { who = newCaller(ctx) })

	DescribeTable("is refused and changes nothing",
		func(ctx SpecContext, body string, want int, reason string) {
			before := world(ctx, who.endpoint.Namespace)
			refused := newMachine(who.endpoint, "m-3").register(ctx, body)
			Expect(refused.status).To(Equal(want))
			Expect(refused.message()).To(ContainSubstring(reason))
			if reason != unknownField { // a report is taken without it
				Expect(who.host.report(ctx, body).status).To(Equal(want))
			}
			Expect(world(ctx, who.endpoint.Namespace)).To(Equal(before))
		},
		Entry("empty", "", 400, "body is not"),
		Entry("not JSON", "phase=Running", 400, "body is not"),
		Entry("another type", `[]`, 400, "body is not"),
		Entry("cut off", `{"phase":"Run`, 400, "body is not"),
		Entry("unknown field", `{"labels":{},"conditions":[]}`, 400, unknownField),
		Entry("two values", `{}{}`, 400, "more than one"),
		Entry("too large", `{"phase":"`+strings.Repeat("x", wire.MaxBody)+`"}`, 413, "larger than 65536 bytes"),
	)

	It("is not waited for", func(ctx SpecContext) {
		before := world(ctx, who.endpoint.Namespace)
		slow, feed := io.Pipe()
		defer feed.Close()
		go func() { _, _ = feed.Write([]byte(`{"phase":`)) }()
		refused := who.host.report(ctx, io.Reader(slow))
		Expect(refused.status).To(Equal(http.StatusRequestTimeout))
		Expect(refused.message()).To(ContainSubstring("did not arrive in time"))
		Expect(world(ctx, who.endpoint.Namespace)).To(Equal(before))
	})

	It("is not waited for either when the caller is refused before it is read", func(ctx SpecContext) {
		slow, feed := io.Pipe()
		defer feed.Close()
		go func() { _, _ = feed.Write([]byte(`{"phase":`)) }()
		Expect(request(ctx, shared, http.MethodPost, who.host.url("/report"), io.Reader(slow)).status).To(Equal(http.StatusUnauthorized))
	})

	It("is refused on requests that have none", func(ctx SpecContext) {
		odd := request(ctx, shared, http.MethodGet, who.host.url("/desired?wait=10s"), bytes.NewBufferString("x"), who.host.auth())
		Expect(odd.status).To(Equal(http.StatusBadRequest))
	})

	It("leaves the connection usable for longer than a body may take", func(ctx SpecContext) {
		own := newHTTPClient(api)
		send := func() int {
			return request(ctx, own, http.MethodPost, who.host.url("/report"), report, who.host.auth()).status
		}
		Expect(send()).To(Equal(http.StatusNoContent))
		poll := func() answer {
			desired := into[wire.Desired](request(ctx, own, http.MethodGet, who.host.url("/desired"), nil, who.host.auth()))
			return request(ctx, own, http.MethodGet, who.host.url("/desired?wait=900ms&revision="+desired.Revision), nil, who.host.auth())
		}
		Expect(poll().status).To(Equal(http.StatusOK))
		Expect(send()).To(Equal(http.StatusNoContent))
	})
})
