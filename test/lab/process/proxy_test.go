// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package process_test

import (
	"bufio"
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path/filepath"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/process"
)

var _ = Describe("Router", func() {
	It("connects to the address that an asked one is routed to", func(ctx SpecContext) {
		server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { _, _ = io.WriteString(w, r.Host) }))
		DeferCleanup(server.Close)
		socket := filepath.Join(GinkgoT().TempDir(), "socket")
		asked := []string{}
		router, err := process.NewRouter(socket, func(hostPort string) string {
			asked = append(asked, hostPort)
			return server.Listener.Addr().String()
		})
		Expect(err).NotTo(HaveOccurred())
		DeferCleanup(router.Close)

		connection, err := (&net.Dialer{}).DialContext(ctx, "unix", socket)
		Expect(err).NotTo(HaveOccurred())
		DeferCleanup(connection.Close)
		_, err = io.WriteString(connection, "CONNECT 10.1.2.3:8443 HTTP/1.1\r\nHost: 10.1.2.3:8443\r\n\r\n")
		Expect(err).NotTo(HaveOccurred())
		answer, err := http.ReadResponse(bufio.NewReader(connection), nil)
		Expect(err).NotTo(HaveOccurred())
		Expect(answer.StatusCode).To(Equal(http.StatusOK))
		Expect(asked).To(Equal([]string{"10.1.2.3:8443"}))

		through := tls.Client(connection, &tls.Config{InsecureSkipVerify: true}) // #nosec G402 -- whose certificate it is does not matter here
		Expect(through.HandshakeContext(ctx)).To(Succeed())
	}, SpecTimeout(time.Minute))
})

var _ = Describe("Proxy", func() {
	It("connects to the server of a Service by its name, and to nothing else", func() {
		server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { _, _ = io.WriteString(w, r.Host) }))
		DeferCleanup(server.Close)
		listens, isTCP := server.Listener.Addr().(*net.TCPAddr)
		Expect(isTCP).To(BeTrue())
		proxy, err := process.NewProxy(map[string]int{"hooks.default.svc:443": listens.Port})
		Expect(err).NotTo(HaveOccurred())
		DeferCleanup(proxy.Close)
		at, found := strings.CutPrefix(proxy.Env()[0], "HTTPS_PROXY=")
		Expect(found).To(BeTrue())
		through, err := url.Parse(at)
		Expect(err).NotTo(HaveOccurred())
		client := &http.Client{Transport: &http.Transport{
			Proxy: http.ProxyURL(through), DisableKeepAlives: true,
			TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, // #nosec G402 -- whose certificate it is does not matter here
		}}

		response, err := client.Get("https://hooks.default.svc")
		Expect(err).NotTo(HaveOccurred())
		said, err := io.ReadAll(response.Body)
		Expect(err).NotTo(HaveOccurred())
		Expect(response.Body.Close()).To(Succeed())
		Expect(string(said)).To(Equal("hooks.default.svc"))
		exchanged := proxy.Traffic("hooks.default.svc:443")
		Expect(exchanged.Received).To(BeNumerically(">", len("hooks.default.svc")))
		Expect(exchanged.Sent).To(BeNumerically(">", len("GET / HTTP/1.1")))
		Expect(proxy.Traffic("other.default.svc:443")).To(BeZero())

		_, err = client.Get("https://other.default.svc")
		Expect(err).To(MatchError(ContainSubstring("Bad Gateway")))
		server.Close()
		_, err = client.Get("https://hooks.default.svc")
		Expect(err).To(MatchError(ContainSubstring("Bad Gateway")), "nothing answers")
	})
})
