// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package image_test

import (
	"context"
	"io"
	"net/http"
	"os"
	"strings"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/validate"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/agent/image"
)

var _ = Describe("An image that is relayed", func() {
	var (
		h         *hub
		dir       string
		reference name.Reference
		wanted    image.Image
		digest    string
	)
	ctx := context.Background()

	BeforeEach(func() {
		h, dir = newHub(), GinkgoT().TempDir()
		store := image.NewStore(image.Options{Directory: dir, Transport: h.server.Client().Transport, Architecture: "amd64"})
		large, _ := h.pushLarge("v2")
		digest = digestOf(large)
		var err error
		wanted, err = store.Resolve(ctx, "oci://"+h.host()+"/os:v2", "")
		Expect(err).NotTo(HaveOccurred())
		served, stop, err := store.Relay(ctx, wanted)
		Expect(err).NotTo(HaveOccurred())
		DeferCleanup(stop)
		Expect(served).To(MatchRegexp(`^127\.0\.0\.1:\d+/elemental/os@` + digest + `$`))
		reference, err = name.ParseReference(served)
		Expect(err).NotTo(HaveOccurred())
	})

	It("is what the CLI pulls, whatever its tag names by now, and is kept nowhere", func() {
		h.push("v2", "amd64")
		pulled, err := remote.Image(reference)
		Expect(err).NotTo(HaveOccurred())
		Expect(digestOf(pulled)).To(Equal(digest))
		Expect(validate.Image(pulled)).To(Succeed())
		Expect(os.ReadDir(dir)).To(BeEmpty())
	})

	It("is broken off when the registry sends something else", func() {
		pulled, err := remote.Image(reference)
		Expect(err).NotTo(HaveOccurred())
		layers, err := pulled.Layers()
		Expect(err).NotTo(HaveOccurred())
		large := layers[len(layers)-1]
		size, err := large.Size()
		Expect(err).NotTo(HaveOccurred())
		layer, err := large.Digest()
		Expect(err).NotTo(HaveOccurred())
		h.disturb = func(w http.ResponseWriter, r *http.Request) bool {
			if !strings.HasSuffix(r.URL.Path, "/blobs/"+layer.String()) {
				return false
			}
			_, _ = w.Write(make([]byte, size))
			return true
		}
		response, err := http.Get("http://" + reference.Context().RegistryStr() + "/v2/elemental/os/blobs/" + layer.String())
		Expect(err).NotTo(HaveOccurred())
		defer response.Body.Close()
		_, err = io.Copy(io.Discard, response.Body)
		Expect(err).To(MatchError(io.ErrUnexpectedEOF))
	})
})
