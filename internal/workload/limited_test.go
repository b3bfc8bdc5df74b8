// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package workload

import (
	"io"
	"net/http"
	"net/http/httptest"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
)

var _ = DescribeTable("An answer to those who do not run the manager", func(size int, expected error) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(make([]byte, size)) }))
	DeferCleanup(server.Close)
	client := &http.Client{Transport: limited{http.DefaultTransport}}
	response, err := client.Get(server.URL)
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(response.Body.Close)
	_, err = io.ReadAll(response.Body)
	if expected == nil {
		Expect(err).NotTo(HaveOccurred())
		return
	}
	Expect(err).To(MatchError(expected))
},
	Entry("is read as a whole", maxAnswer, nil),
	Entry("is not, if it is too large", maxAnswer+1, ErrTooLarge),
)
