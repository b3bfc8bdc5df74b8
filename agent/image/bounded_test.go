// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package image

import (
	"io"
	"net/http"
	"net/http/httptest"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
)

var _ = DescribeTable("Of what a registry sends", func(path string, size int, fails bool) {
	registry := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write(make([]byte, size))
	}))
	DeferCleanup(registry.Close)
	response, err := (&http.Client{Transport: bounded{http.DefaultTransport}}).Get(registry.URL + path)
	Expect(err).NotTo(HaveOccurred())
	defer response.Body.Close()
	read, err := io.Copy(io.Discard, response.Body)
	if fails {
		Expect(err).To(MatchError(errTooLarge))
		return
	}
	Expect(err).NotTo(HaveOccurred())
	Expect(read).To(BeEquivalentTo(size))
},
	Entry("a manifest is read", "/v2/os/manifests/v1", maxManifest, false),
	Entry("but not a huge one", "/v2/os/manifests/v1", maxManifest+1, true),
	Entry("nor a huge list of what refers to one", "/v2/os/referrers/sha256:0", maxManifest+1, true),
	Entry("a blob is streamed", "/v2/os/blobs/sha256:0", maxManifest+1, false),
)
