// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package process_test

import (
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/process"
)

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
