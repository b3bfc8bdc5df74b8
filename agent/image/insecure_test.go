// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package image_test

import (
	"context"
	"crypto/tls"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/agent/image"
)

var _ = Describe("A registry without verified TLS", func() {
	var (
		h   *hub
		dir string
	)
	ctx := context.Background()

	BeforeEach(func() { h, dir = newHub(), GinkgoT().TempDir() })

	// fetch as a host that trusts none of the registries here.
	fetch := func(uri string, insecure ...string) (image.Image, error) {
		store := image.NewStore(image.Options{Directory: dir, Architecture: "amd64", Insecure: insecure,
			Transport: &http.Transport{TLSClientConfig: &tls.Config{MinVersion: tls.VersionTLS12}}})
		resolved, err := store.Resolve(ctx, uri, "")
		if err != nil {
			return resolved, err
		}
		return resolved, store.Download(ctx, resolved)
	}
	// plain serves a registry without TLS, and pushes an image to it.
	plain := func(handler http.Handler) (string, v1.Image) {
		GinkgoHelper()
		server := httptest.NewServer(handler)
		DeferCleanup(server.Close)
		host := strings.TrimPrefix(server.URL, "http://")
		reference, err := name.ParseReference(host+"/team/os:v2", name.Insecure)
		Expect(err).NotTo(HaveOccurred())
		pushed := h.build("amd64")
		Expect(remote.Write(reference, pushed)).To(Succeed())
		return host, pushed
	}
	quiet := registry.Logger(log.New(io.Discard, "", 0))
	refusal := And(BeAssignableToTypeOf(&image.Terminal{}), MatchError(ContainSubstring("agent.insecureRegistries")))

	It("is used over plain HTTP when the operator has listed it", func() {
		host, pushed := plain(registry.New(quiet))
		resolved, err := fetch("oci://"+host+"/team/os:v2", host)
		Expect(err).NotTo(HaveOccurred())
		Expect(resolved.Digest).To(Equal(digestOf(pushed)))
	})

	It("is used over TLS, whoever has signed its certificate, when the operator has listed it", func() {
		pushed := h.push("v2", "amd64")
		resolved, err := fetch("oci://"+h.host()+"/os:v2", "registry.test/os", h.host()+"/os")
		Expect(err).NotTo(HaveOccurred())
		Expect(resolved.Digest).To(Equal(digestOf(pushed)))
	})

	DescribeTable("is not used", func(listed func(host string) []string) {
		host, _ := plain(registry.New(quiet))
		_, err := fetch("oci://"+host+"/team/os:v2", listed(host)...)
		Expect(err).To(refusal)
	},
		Entry("when nothing is listed", func(string) []string { return nil }),
		Entry("when another registry is", func(string) []string { return []string{"registry.test"} }),
		Entry("when another port is", func(host string) []string { return []string{strings.Split(host, ":")[0]} }),
		Entry("when another repository is", func(host string) []string { return []string{host + "/team/other"} }),
		Entry("when the beginning of a part is", func(host string) []string { return []string{host + "/team/o"} }),
	)

	It("is not where a listed one may send its clients", func() {
		h.push("v2", "amd64")
		inner := registry.New(quiet)
		away := false
		host, _ := plain(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if away && strings.Contains(r.URL.Path, "/blobs/") {
				http.Redirect(w, r, h.server.URL+r.URL.Path, http.StatusTemporaryRedirect)
				return
			}
			inner.ServeHTTP(w, r)
		}))
		away = true
		_, err := fetch("oci://"+host+"/team/os:v2", host)
		Expect(err).To(MatchError(ContainSubstring("its certificate is signed by an authority that the host does not trust")))
	})
})
