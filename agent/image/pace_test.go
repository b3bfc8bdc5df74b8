// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package image_test

import (
	"context"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/random"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/agent/image"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/agent/system/systemtest"
)

// layerBytes is more than has to come in a minute.
const layerBytes = 3 << 20

// pushLarge pushes an image with one layer, and returns that, too.
func (h *hub) pushLarge(tag string) (v1.Image, v1.Layer) {
	GinkgoHelper()
	layer, err := random.Layer(layerBytes, "application/vnd.docker.image.rootfs.diff.tar.gzip")
	Expect(err).NotTo(HaveOccurred())
	large, err := mutate.AppendLayers(h.build("amd64"), layer)
	Expect(err).NotTo(HaveOccurred())
	Expect(remote.Write(h.reference(tag), large, remote.WithTransport(h.server.Client().Transport))).To(Succeed())
	return large, layer
}

var _ = Describe("A registry that answers slowly", func() {
	var (
		h      *hub
		dir    string
		clock  *systemtest.Clock
		store  *image.Store
		wanted image.Image
		name   v1.Hash
		blob   []byte
		done   chan error
	)
	ctx := context.Background()

	BeforeEach(func() {
		h, dir, clock, done = newHub(), GinkgoT().TempDir(), systemtest.NewClock(), make(chan error, 1)
		clock.Manual = true
		store = image.NewStore(image.Options{Directory: dir, Transport: h.server.Client().Transport, Architecture: "amd64", Clock: clock})
		_, layer := h.pushLarge("v2")
		var err error
		name, err = layer.Digest()
		Expect(err).NotTo(HaveOccurred())
		content, err := layer.Compressed()
		Expect(err).NotTo(HaveOccurred())
		blob, err = io.ReadAll(content)
		Expect(err).NotTo(HaveOccurred())
		wanted, err = store.Resolve(ctx, "oci://"+h.host()+"/os:v2", "")
		Expect(err).NotTo(HaveOccurred())
	})

	// slowly sends the first part of the large layer, and the rest when it is let.
	slowly := func(first int, rest <-chan struct{}) {
		h.disturb = func(w http.ResponseWriter, r *http.Request) bool {
			if r.Method != http.MethodGet || !strings.HasSuffix(r.URL.Path, "/blobs/"+name.String()) {
				return false
			}
			w.Header().Set("Content-Length", strconv.Itoa(len(blob)))
			_, _ = w.Write(blob[:first])
			w.(http.Flusher).Flush()
			select {
			case <-rest:
				_, _ = w.Write(blob[first:])
			case <-r.Context().Done():
			}
			return true
		}
		downloading, cancel := context.WithCancel(ctx)
		DeferCleanup(cancel)
		go func() { done <- store.Download(downloading, wanted) }()
		Eventually(func() int64 { return largest(dir) }).Should(BeEquivalentTo(first))
	}

	It("is given up when it sends less than a MiB in a minute, and may be tried again", func() {
		slowly(100_000, nil)
		clock.Advance(time.Minute - time.Second)
		Consistently(done, "200ms").ShouldNot(Receive())
		clock.Advance(time.Second)
		var err error
		Eventually(done).Should(Receive(&err))
		Expect(err).To(BeAssignableToTypeOf(&image.Unreachable{}))
		Expect(err).To(MatchError(HaveSuffix(": it sent less than 1 MiB in 1m0s")))
	})

	It("is not given up while it comes forward, however long it takes", func() {
		rest := make(chan struct{})
		slowly(2<<20, rest)
		clock.Advance(time.Minute)
		close(rest)
		Eventually(done).Should(Receive(BeNil()))
	})
})

// largest is the size of the largest file beneath a directory.
func largest(dir string) (size int64) {
	_ = filepath.Walk(dir, func(_ string, info os.FileInfo, err error) error {
		if err == nil && !info.IsDir() {
			size = max(size, info.Size())
		}
		return nil
	})
	return size
}
