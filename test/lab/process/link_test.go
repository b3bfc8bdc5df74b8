// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package process_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strconv"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/process"
)

var _ = Describe("A link", func() {
	It("delays what its server sends, on open connections too", func() {
		server := httptest.NewServer(http.HandlerFunc(func(answer http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(answer, "hello") }))
		DeferCleanup(server.Close)
		behind, err := url.Parse(server.URL)
		Expect(err).NotTo(HaveOccurred())
		port, err := strconv.Atoi(behind.Port())
		Expect(err).NotTo(HaveOccurred())
		link, err := process.NewLink(port)
		Expect(err).NotTo(HaveOccurred())
		DeferCleanup(link.Close)
		client := &http.Client{Transport: &http.Transport{}}
		took := func() time.Duration {
			GinkgoHelper()
			began := time.Now()
			response, err := client.Get(fmt.Sprintf("http://127.0.0.1:%d", link.Port()))
			Expect(err).NotTo(HaveOccurred())
			said, err := io.ReadAll(response.Body)
			Expect(err).NotTo(HaveOccurred())
			Expect(response.Body.Close()).To(Succeed())
			Expect(string(said)).To(Equal("hello"))
			return time.Since(began)
		}
		const delay = 2 * time.Second
		Expect(took()).To(BeNumerically("<", delay))
		link.Delay(delay)
		Expect(took()).To(BeNumerically(">=", delay))
		link.Delay(0)
		Expect(took()).To(BeNumerically("<", delay))
		link.Close()
		_, err = client.Get(fmt.Sprintf("http://127.0.0.1:%d", link.Port()))
		Expect(err).To(HaveOccurred())
	})
})
