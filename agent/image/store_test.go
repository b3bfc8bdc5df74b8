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
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/random"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/validate"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/agent/image"
)

// hub is a registry over TLS that can be disturbed.
type hub struct {
	server   *httptest.Server
	lock     sync.Mutex
	requests []string
	disturb  func(w http.ResponseWriter, r *http.Request) bool
}

func newHub(options ...registry.Option) *hub {
	h := &hub{}
	inner := registry.New(append(options, registry.Logger(log.New(io.Discard, "", 0)))...)
	h.server = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h.lock.Lock()
		h.requests = append(h.requests, r.Method+" "+r.URL.Path)
		disturb := h.disturb
		h.lock.Unlock()
		if disturb == nil || !disturb(w, r) {
			inner.ServeHTTP(w, r)
		}
	}))
	h.server.Config.ErrorLog = log.New(io.Discard, "", 0)
	h.server.StartTLS()
	DeferCleanup(h.server.Close)
	return h
}

func (h *hub) host() string { return strings.TrimPrefix(h.server.URL, "https://") }

func (h *hub) reference(tag string) name.Reference {
	GinkgoHelper()
	reference, err := name.ParseReference(h.host() + "/os:" + tag)
	Expect(err).NotTo(HaveOccurred())
	return reference
}

// push pushes a random image with this architecture and returns its digest.
func (h *hub) push(tag, architecture string) v1.Image {
	GinkgoHelper()
	pushed := h.build(architecture)
	Expect(remote.Write(h.reference(tag), pushed, remote.WithTransport(h.server.Client().Transport))).To(Succeed())
	return pushed
}

func (h *hub) build(architecture string) v1.Image {
	GinkgoHelper()
	built, err := random.Image(10_000, 3)
	Expect(err).NotTo(HaveOccurred())
	config, err := built.ConfigFile()
	Expect(err).NotTo(HaveOccurred())
	config = config.DeepCopy()
	config.Architecture, config.OS = architecture, "linux"
	built, err = mutate.ConfigFile(built, config)
	Expect(err).NotTo(HaveOccurred())
	return built
}

func (h *hub) did(part string) int {
	h.lock.Lock()
	defer h.lock.Unlock()
	n := 0
	for _, request := range h.requests {
		if strings.Contains(request, part) {
			n++
		}
	}
	return n
}

func digestOf(of v1.Image) string {
	GinkgoHelper()
	digest, err := of.Digest()
	Expect(err).NotTo(HaveOccurred())
	return digest.String()
}

var _ = Describe("The image store", func() {
	var (
		h     *hub
		dir   string
		store *image.Store
	)
	ctx := context.Background()

	BeforeEach(func() {
		h, dir = newHub(), GinkgoT().TempDir()
		store = image.NewStore(image.Options{Directory: dir, Transport: h.server.Client().Transport, Architecture: "amd64"})
	})

	DescribeTable("reads a URI as the elemental CLI does",
		func(scheme string) {
			pushed := h.push("v2", "amd64")
			resolved, err := store.Resolve(ctx, scheme+h.host()+"/os:v2", "")
			Expect(err).NotTo(HaveOccurred())
			Expect(resolved.Digest).To(Equal(digestOf(pushed)))
			Expect(resolved.Bytes).To(BeNumerically(">", 30_000))
		},
		Entry("oci://", "oci://"), Entry("oci:", "oci:"), Entry("docker://", "docker://"), Entry("bare", ""),
	)

	It("takes the host's platform out of an index", func() {
		ours, theirs := h.build("amd64"), h.build("arm64")
		index := mutate.AppendManifests(empty.Index,
			mutate.IndexAddendum{Add: theirs, Descriptor: v1.Descriptor{Platform: &v1.Platform{OS: "linux", Architecture: "arm64"}}},
			mutate.IndexAddendum{Add: ours, Descriptor: v1.Descriptor{Platform: &v1.Platform{OS: "linux", Architecture: "amd64"}}})
		Expect(remote.WriteIndex(h.reference("v2"), index, remote.WithTransport(h.server.Client().Transport))).To(Succeed())
		Expect(store.Resolve(ctx, "oci://"+h.host()+"/os:v2", "")).To(HaveField("Digest", digestOf(ours)))

		whole, err := index.Digest()
		Expect(err).NotTo(HaveOccurred())
		_, err = store.Resolve(ctx, "oci://"+h.host()+"/os:v2", whole.String())
		Expect(err).To(MatchError(ContainSubstring("names an index of images; the digest of its image for linux/amd64 is " + digestOf(ours))))
	})

	It("follows a pinned digest and not the tag", func() {
		pinned := h.push("v2", "amd64")
		h.push("v2", "amd64")
		Expect(store.Resolve(ctx, "oci://"+h.host()+"/os:v2", digestOf(pinned))).To(HaveField("Digest", digestOf(pinned)))
	})

	It("follows the digest that an operator wrote, whatever another host has taken it for", func() {
		written, other := h.push("v2", "amd64"), h.push("v2", "amd64")
		uri := "oci://" + h.host() + "/os@" + digestOf(written)
		Expect(store.Resolve(ctx, uri, digestOf(written))).To(HaveField("Digest", digestOf(written)))
		_, err := store.Resolve(ctx, uri, digestOf(other))
		Expect(err).To(BeAssignableToTypeOf(&image.Terminal{}))
		Expect(err).To(MatchError(HaveSuffix("resolves to " + digestOf(written) + ", but the rollout is pinned to " + digestOf(other) +
			", to which another host resolved it")))
	})

	DescribeTable("says for good what will not get better",
		func(uri func() string, digest, message string) {
			_, err := store.Resolve(ctx, uri(), digest)
			Expect(err).To(BeAssignableToTypeOf(&image.Terminal{}))
			Expect(err).To(MatchError(MatchRegexp(message)))
		},
		Entry("no such tag", func() string { return "oci://" + h.host() + "/os:none" }, "", `^image 127\.0\.0\.1:\d+/os:none does not exist in registry 127`),
		Entry("no such digest", func() string { h.push("v2", "amd64"); return "oci://" + h.host() + "/os:v2" },
			"sha256:"+strings.Repeat("0", 64), `^image .*@sha256:0+ does not exist`),
		Entry("another platform", func() string { h.push("v2", "s390x"); return "oci://" + h.host() + "/os:v2" }, "", `is for s390x, the host is amd64$`),
		Entry("denied", func() string {
			h.disturb = func(w http.ResponseWriter, _ *http.Request) bool { w.WriteHeader(403); return true }
			return "oci://" + h.host() + "/os:v2"
		}, "", `denies access to image .* \(HTTP 403\): check the name, and the host's registry credentials$`),
		Entry("no URI", func() string { return "" }, "", `imageURI is empty`),
		Entry("a directory", func() string { return "dir:///" }, "", `is not in a registry: use oci://`),
		Entry("nonsense", func() string { return "oci://A B" }, "", `is not a valid reference`),
		Entry("a digest that is none", func() string { return "oci://r/os" }, "sha256:1", `is not of the form sha256:<64 hex digits>`),
		Entry("plain HTTP", func() string {
			plain := httptest.NewServer(registry.New(registry.Logger(log.New(io.Discard, "", 0))))
			DeferCleanup(plain.Close)
			return "oci://" + strings.TrimPrefix(plain.URL, "http://") + "/os:v2"
		}, "", `does not speak TLS; images are only fetched over verified TLS, except those that agent\.insecureRegistries lists in the host's configuration, which is spec\.config\.elemental of the ElementalRegistration$`),
	)

	It("trusts nobody whom the host does not trust", func() {
		h.push("v2", "amd64")
		stranger := image.NewStore(image.Options{Directory: dir, Transport: &http.Transport{TLSClientConfig: &tls.Config{}}})
		_, err := stranger.Resolve(ctx, "oci://"+h.host()+"/os:v2", "")
		Expect(err).To(BeAssignableToTypeOf(&image.Terminal{}))
		Expect(err).To(MatchError(ContainSubstring("its certificate is signed by an authority that the host does not trust; images are only fetched over verified TLS, except those that agent.insecureRegistries lists")))
	})

	DescribeTable("lets what may get better be tried again",
		func(disturb func(), message string) {
			uri := "oci://" + h.host() + "/os:v2"
			disturb()
			_, err := store.Resolve(ctx, uri, "")
			Expect(err).To(BeAssignableToTypeOf(&image.Unreachable{}))
			Expect(err).To(MatchError(MatchRegexp(message)))
		},
		Entry("an overloaded registry", func() {
			h.disturb = func(w http.ResponseWriter, _ *http.Request) bool { w.WriteHeader(503); return true }
		}, `answers HTTP 503 for image`),
		Entry("none", func() { h.server.Close() }, `^registry 127\.0\.0\.1:\d+ cannot be reached for image .*: the connection is refused$`),
	)

	It("downloads all of it, once, and serves what the CLI pulls", func() {
		pushed := h.push("v2", "amd64")
		wanted, err := store.Resolve(ctx, "oci://"+h.host()+"/os:v2", "")
		Expect(err).NotTo(HaveOccurred())
		Expect(store.Downloaded(wanted.Digest)).To(BeZero())
		Expect(store.Download(ctx, wanted)).To(Succeed())
		Expect(store.Downloaded(wanted.Digest)).To(Equal(wanted.Bytes), "nothing is left to come")
		requests := h.did("blobs")
		Expect(store.Download(ctx, wanted)).To(Succeed())
		Expect(h.did("blobs")).To(Equal(requests))
		h.server.Close()

		served, stop, err := store.Serve(wanted.Digest)
		Expect(err).NotTo(HaveOccurred())
		defer stop()
		Expect(served).To(MatchRegexp(`^127\.0\.0\.1:\d+/elemental/os@` + digestOf(pushed) + `$`))
		reference, err := name.ParseReference(served)
		Expect(err).NotTo(HaveOccurred())
		pulled, err := remote.Image(reference)
		Expect(err).NotTo(HaveOccurred())
		Expect(digestOf(pulled)).To(Equal(digestOf(pushed)))
		Expect(validate.Image(pulled)).To(Succeed())

		other, err := name.ParseReference(reference.Context().Name() + ":latest")
		Expect(err).NotTo(HaveOccurred())
		_, err = remote.Image(other)
		Expect(err).To(HaveOccurred())
	})

	It("goes on with a download that broke off", func() {
		h.push("v2", "amd64")
		wanted, err := store.Resolve(ctx, "oci://"+h.host()+"/os:v2", "")
		Expect(err).NotTo(HaveOccurred())
		layers := 0
		h.disturb = func(w http.ResponseWriter, r *http.Request) bool {
			if strings.Contains(r.URL.Path, "/blobs/") {
				layers++
			}
			if layers >= 4 { // the configuration was one; two layers are through
				panic(http.ErrAbortHandler)
			}
			return false
		}
		Expect(store.Download(ctx, wanted)).NotTo(Succeed())
		_, _, err = store.Serve(wanted.Digest)
		Expect(err).To(MatchError(ContainSubstring("has not been downloaded")))
		kept := blobs(dir)
		Expect(kept).NotTo(BeEmpty())
		h.disturb = nil
		requests := h.did("GET /v2/os/blobs")
		Expect(store.Download(ctx, wanted)).To(Succeed())
		Expect(h.did("GET /v2/os/blobs") - requests).To(BeNumerically("<=", 4-len(kept)))
	})

	It("keeps nothing that is not what its name says", func() {
		h.push("v2", "amd64")
		wanted, err := store.Resolve(ctx, "oci://"+h.host()+"/os:v2", "")
		Expect(err).NotTo(HaveOccurred())
		h.disturb = func(w http.ResponseWriter, r *http.Request) bool {
			if strings.Contains(r.URL.Path, "/blobs/") && r.Method == http.MethodGet {
				_, _ = w.Write([]byte("tampered"))
				return true
			}
			return false
		}
		Expect(store.Download(ctx, wanted)).NotTo(Succeed())
		Expect(blobs(dir)).To(BeEmpty())
	})

	It("stops a download with its context", func() {
		h.push("v2", "amd64")
		wanted, err := store.Resolve(ctx, "oci://"+h.host()+"/os:v2", "")
		Expect(err).NotTo(HaveOccurred())
		bounded, cancel := context.WithCancel(ctx)
		h.disturb = func(_ http.ResponseWriter, r *http.Request) bool {
			cancel()
			<-r.Context().Done()
			return true
		}
		Expect(store.Download(bounded, wanted)).To(MatchError(context.Canceled))
	})

	It("drops all but what is to be kept", func() {
		first, second := h.push("v1", "amd64"), h.push("v2", "amd64")
		for _, tag := range []string{"v1", "v2"} {
			wanted, err := store.Resolve(ctx, "oci://"+h.host()+"/os:"+tag, "")
			Expect(err).NotTo(HaveOccurred())
			Expect(store.Download(ctx, wanted)).To(Succeed())
		}
		Expect(store.Drop(digestOf(second))).To(Succeed())
		_, _, err := store.Serve(digestOf(first))
		Expect(err).To(HaveOccurred())
		_, stop, err := store.Serve(digestOf(second))
		Expect(err).NotTo(HaveOccurred())
		stop()
		Expect(store.Drop()).To(Succeed())
		Expect(os.ReadDir(dir)).To(BeEmpty())
	})
})

func blobs(dir string) []string {
	found, err := filepath.Glob(filepath.Join(dir, "*", "blobs", "sha256", "*"))
	Expect(err).NotTo(HaveOccurred())
	return found
}
