// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package hostapi_test

import (
	"context"
	"crypto/tls"
	"io"
	"net/http"
	"net/http/httptrace"
	"strings"
	"sync/atomic"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/hostapi"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/hostapi/apitest"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/wire"
)

// held is a request that waits.
type held struct {
	answered chan answer
	cancel   context.CancelFunc
}

// poll asks for news of what the host knows, with patience for longer than any spec.
func (m *machine) poll(ctx context.Context, known string) *held {
	ctx, cancel := context.WithCancel(ctx)
	waiting := &held{answered: make(chan answer, 1), cancel: cancel}
	go func() { waiting.answered <- m.get(ctx, "/desired?wait=300s&revision="+known) }()
	return waiting
}

// idle polls at the host's revision and returns when the server holds the request.
func (m *machine) idle(ctx context.Context) (*held, wire.Desired) {
	GinkgoHelper()
	before := gauge("elemental_hostapi_held_polls")
	desired := into[wire.Desired](m.get(ctx, "/desired"))
	waiting := m.poll(ctx, desired.Revision)
	Eventually(func() float64 { return gauge("elemental_hostapi_held_polls") }).Should(Equal(before + 1))
	DeferCleanup(waiting.cancel)
	return waiting, desired
}

var _ = Describe("Asking for the desired state", func() {
	var (
		endpoint *apitest.RegistrationEndpoint
		host     *machine
	)

	BeforeEach(func(ctx SpecContext) {
		endpoint = openRegistration(ctx, nil)
		host = registered(ctx, endpoint, "m-1")
	})

	It("answers at once what the host does not know, right after it registered", func(ctx SpecContext) {
		desired := into[wire.Desired](host.get(ctx, "/desired?wait=300s"))
		Expect(desired.Revision).NotTo(BeEmpty())
		Expect(desired.Approved).To(BeFalse())
		Expect(into[wire.Desired](host.get(ctx, "/desired?wait=300s&revision=other"))).To(Equal(desired))
	})

	It("answers when something changes for that host, and only then", func(ctx SpecContext) {
		neighbour := registered(ctx, endpoint, "m-2")
		waiting, known := host.idle(ctx)
		other, _ := neighbour.idle(ctx)

		host.change(ctx, func(object *infrav1.ElementalHost) { object.Spec.Approved = true })
		var told answer
		Eventually(waiting.answered).Should(Receive(&told))
		desired := into[wire.Desired](told)
		Expect(desired.Approved).To(BeTrue())
		Expect(desired.Revision).NotTo(Equal(known.Revision))
		Consistently(other.answered, "300ms").ShouldNot(Receive())
	})

	It("asks a host for its report until there is one, as there is none after clusterctl move", func(ctx SpecContext) {
		waiting, known := host.idle(ctx)
		Expect(known.Unreported).To(BeTrue())
		Expect(host.report(ctx, report).status).To(Equal(http.StatusNoContent))
		var told answer
		Eventually(waiting.answered).Should(Receive(&told))
		Expect(into[wire.Desired](told).Unreported).To(BeFalse())
	})

	It("does not answer to a change that means nothing to the host", func(ctx SpecContext) {
		Expect(host.report(ctx, report).status).To(Equal(http.StatusNoContent))
		Eventually(func() bool { return into[wire.Desired](host.get(ctx, "/desired")).Unreported }).Should(BeFalse())
		waiting, _ := host.idle(ctx)
		host.change(ctx, func(object *infrav1.ElementalHost) { object.Labels = map[string]string{"rack": "r9"} })
		Expect(host.report(ctx, report).status).To(Equal(http.StatusNoContent))
		Consistently(waiting.answered, "300ms").ShouldNot(Receive())

		host.change(ctx, func(object *infrav1.ElementalHost) { object.Labels[infrav1.NeedsResetLabel] = "true" })
		var told answer
		Eventually(waiting.answered).Should(Receive(&told))
		Expect(into[wire.Desired](told).Reset).To(BeTrue())
	})

	It("answers with what is known when the host's patience ends", func(ctx SpecContext) {
		desired := into[wire.Desired](host.get(ctx, "/desired"))
		started := time.Now()
		same := into[wire.Desired](host.get(ctx, "/desired?wait=400ms&revision="+desired.Revision))
		Expect(time.Since(started)).To(BeNumerically(">=", 360*time.Millisecond), "less up to a tenth")
		Expect(same).To(Equal(desired))
	})

	It("answers that the host is gone", func(ctx SpecContext) {
		waiting, _ := host.idle(ctx)
		host.remove(ctx)
		var told answer
		Eventually(waiting.answered).Should(Receive(&told))
		Expect(told.status).To(Equal(http.StatusNotFound))
	})

	It("holds two requests of a host and answers the oldest when there are more", func(ctx SpecContext) {
		first, known := host.idle(ctx)
		second, _ := host.idle(ctx)
		third := host.poll(ctx, known.Revision)
		DeferCleanup(third.cancel)
		var told answer
		Eventually(first.answered).Should(Receive(&told))
		Expect(into[wire.Desired](told)).To(Equal(known))
		Consistently(second.answered, "200ms").ShouldNot(Receive())
	})

	It("forgets a host that hangs up", func(ctx SpecContext) {
		before := gauge("elemental_hostapi_held_polls")
		waiting, _ := host.idle(ctx)
		waiting.cancel()
		Eventually(func() float64 { return gauge("elemental_hostapi_held_polls") }).Should(Equal(before))
	})

	It("keeps the connection of a host over its answers", func(ctx SpecContext) {
		var fresh atomic.Int32
		traced := httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{GotConn: func(got httptrace.GotConnInfo) {
			if !got.Reused {
				fresh.Add(1)
			}
		}})
		own := newHTTPClient(api)
		desired := into[wire.Desired](request(traced, own, http.MethodGet, host.url("/desired"), nil, host.auth()))
		for range 3 {
			same := request(traced, own, http.MethodGet, host.url("/desired?wait=50ms&revision="+desired.Revision), nil, host.auth())
			Expect(into[wire.Desired](same)).To(Equal(desired))
		}
		Expect(request(traced, own, http.MethodPost, host.url("/report"), report, host.auth()).status).To(Equal(http.StatusNoContent))
		Expect(fresh.Load()).To(BeEquivalentTo(1))
	})

	It("speaks HTTP/1.1 to who can do HTTP/2: requests that share a connection would share what one of them has proven", func(ctx SpecContext) {
		transport, err := api.Transport()
		Expect(err).NotTo(HaveOccurred())
		DeferCleanup(transport.CloseIdleConnections)
		transport.ForceAttemptHTTP2 = true
		told := request(ctx, &http.Client{Transport: transport}, http.MethodGet, host.url("/desired"), nil, host.auth())
		Expect(told.status).To(Equal(http.StatusOK))
		Expect(told.protocol).To(Equal("HTTP/1.1"))
	})

	It("answers where a connection cannot be parked, too, as it ends with the answer", func(ctx SpecContext) {
		transport, err := api.Transport()
		Expect(err).NotTo(HaveOccurred())
		DeferCleanup(transport.CloseIdleConnections)
		transport.DisableKeepAlives = true
		own := &http.Client{Transport: transport}
		desired := into[wire.Desired](request(ctx, own, http.MethodGet, host.url("/desired"), nil, host.auth()))
		poll := func(wait string) answer {
			return request(ctx, own, http.MethodGet, host.url("/desired?wait="+wait+"&revision="+desired.Revision), nil, host.auth())
		}
		Expect(into[wire.Desired](poll("50ms"))).To(Equal(desired))

		before := gauge("elemental_hostapi_held_polls")
		answered := make(chan answer, 1)
		go func() { answered <- poll("300s") }()
		Eventually(func() float64 { return gauge("elemental_hostapi_held_polls") }).Should(Equal(before + 1))
		host.change(ctx, func(object *infrav1.ElementalHost) { object.Spec.Approved = true })
		var told answer
		Eventually(answered).Should(Receive(&told))
		Expect(into[wire.Desired](told).Approved).To(BeTrue())
		Expect(told.last).To(BeTrue())
	})

	It("hangs up on a host that sends its next request before the answer", func(ctx SpecContext) {
		desired := into[wire.Desired](host.get(ctx, "/desired"))
		transport, err := api.Transport()
		Expect(err).NotTo(HaveOccurred())
		connection, err := tls.Dial("tcp", strings.TrimPrefix(api.Address, "https://"), transport.TLSClientConfig)
		Expect(err).NotTo(HaveOccurred())
		DeferCleanup(func() { _ = connection.Close() })
		one, err := http.NewRequestWithContext(ctx, http.MethodGet, host.url("/desired?wait=300s&revision="+desired.Revision), nil)
		Expect(err).NotTo(HaveOccurred())
		one.Header.Set(host.auth().name, host.auth().value)
		Expect(one.Write(connection)).To(Succeed())
		Expect(one.Write(connection)).To(Succeed())
		Expect(connection.SetReadDeadline(time.Now().Add(10 * time.Second))).To(Succeed())
		_, err = connection.Read(make([]byte, 1))
		Expect(err).To(Or(MatchError(io.EOF), MatchError(ContainSubstring("reset"))))
	})

	DescribeTable("refuses a patience that is none", func(ctx SpecContext, wait string) {
		refused := host.get(ctx, "/desired?wait="+wait)
		Expect(refused.status).To(Equal(http.StatusBadRequest))
		Expect(refused.message()).To(ContainSubstring("want a duration of up to 10m0s"))
	}, Entry("a number", "300"), Entry("negative", "-1s"), Entry("a word", "long"))

	It("writes and reads nothing for an idle host", func(ctx SpecContext) {
		versions := world(ctx, endpoint.Namespace)
		desired := into[wire.Desired](host.get(ctx, "/desired"))
		before := apiRequests(ctx)
		for range 5 {
			Expect(host.get(ctx, "/desired?wait=10ms&revision="+desired.Revision).status).To(Equal(http.StatusOK))
		}
		Expect(apiRequests(ctx)).To(Equal(before))
		Expect(world(ctx, endpoint.Namespace)).To(Equal(versions))
	})
})

var _ = Describe("A server that stops", func() {
	It("answers held requests at once", func(ctx SpecContext) {
		endpoint := openRegistration(ctx, nil)
		host := registered(ctx, endpoint, "m-1")
		desired := into[wire.Desired](host.get(ctx, "/desired"))

		// Another replica, under the endpoint that both share.
		replica, err := apitest.StartAPI(plane, GinkgoT().TempDir(), func(options *hostapi.Options) {
			options.Endpoint = api.Endpoint
		})
		Expect(err).NotTo(HaveOccurred())
		client := newHTTPClient(replica)
		url := replica.Address + "/elemental/v1/namespaces/" + endpoint.Namespace + "/registrations/edge/hosts/m-1/desired"
		before := gauge("elemental_hostapi_held_polls")
		answered := make(chan answer, 1)
		go func() {
			answered <- request(ctx, client, http.MethodGet, url+"?wait=300s&revision="+desired.Revision, nil, host.auth())
		}()
		Eventually(func() float64 { return gauge("elemental_hostapi_held_polls") }).Should(Equal(before + 1))

		Expect(replica.Stop()).To(Succeed())
		var told answer
		Eventually(answered).Should(Receive(&told))
		Expect(into[wire.Desired](told)).To(Equal(desired))
		Expect(told.last).To(BeTrue(), "the host has to go to another replica")
	})

	It("serves a certificate that was renewed", func(ctx SpecContext) {
		folder := GinkgoT().TempDir()
		replica, err := apitest.StartAPI(plane, folder, nil)
		Expect(err).NotTo(HaveOccurred())
		DeferCleanup(replica.Stop)
		Eventually(func() int {
			return request(ctx, newHTTPClient(replica), http.MethodGet, replica.Address+"/", nil).status
		}).Should(Equal(http.StatusNotFound))

		replica.CA, err = apitest.WriteCertificate(folder)
		Expect(err).NotTo(HaveOccurred())
		Eventually(func() int {
			return request(ctx, newHTTPClient(replica), http.MethodGet, replica.Address+"/", nil).status
		}).Should(Equal(http.StatusNotFound))
	})
})
