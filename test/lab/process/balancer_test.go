// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package process_test

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strconv"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/process"
)

// replica serves its name until it is closed.
func replica(name string) (*httptest.Server, int) {
	GinkgoHelper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, name) }))
	DeferCleanup(server.Close)
	address, err := url.Parse(server.URL)
	Expect(err).NotTo(HaveOccurred())
	port, err := strconv.Atoi(address.Port())
	Expect(err).NotTo(HaveOccurred())
	return server, port
}

var _ = Describe("Balancer", func() {
	ask := func(b *process.Balancer, client *http.Client) (string, error) {
		response, err := client.Get(fmt.Sprintf("http://127.0.0.1:%d/", b.Port()))
		if err != nil {
			return "", err
		}
		defer func() { _ = response.Body.Close() }()
		said, err := io.ReadAll(response.Body)
		return string(said), err
	}
	again := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}

	It("uses replicas in turn, and only those that accept connections and are in service", func() {
		first, firstPort := replica("first")
		_, secondPort := replica("second")
		b, err := process.Balance(firstPort, secondPort)
		Expect(err).NotTo(HaveOccurred())
		DeferCleanup(b.Close)
		said := map[string]int{}
		for range 4 {
			name, err := ask(b, again)
			Expect(err).NotTo(HaveOccurred())
			said[name]++
		}
		Expect(said).To(Equal(map[string]int{"first": 2, "second": 2}))

		b.Exclude(secondPort)
		Expect(ask(b, again)).To(Equal("first"))
		Expect(ask(b, again)).To(Equal("first"))
		b.Include(secondPort)
		first.Close()
		Expect(ask(b, again)).To(Equal("second"))
		Expect(ask(b, again)).To(Equal("second"))
	})

	It("closes the connections to a replica that is taken out of service", func() {
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		Expect(err).NotTo(HaveOccurred())
		DeferCleanup(listener.Close)
		port := listener.Addr().(*net.TCPAddr).Port
		b, err := process.Balance(port)
		Expect(err).NotTo(HaveOccurred())
		DeferCleanup(b.Close)

		client, err := net.Dial("tcp", fmt.Sprintf("127.0.0.1:%d", b.Port()))
		Expect(err).NotTo(HaveOccurred())
		DeferCleanup(client.Close)
		server, err := listener.Accept()
		Expect(err).NotTo(HaveOccurred())
		DeferCleanup(server.Close)
		_, err = io.WriteString(server, "x")
		Expect(err).NotTo(HaveOccurred())
		_, err = io.ReadFull(client, make([]byte, 1))
		Expect(err).NotTo(HaveOccurred())
		b.Exclude(port)
		_, err = client.Read(make([]byte, 1))
		Expect(err).To(MatchError(io.EOF))
	})
})
