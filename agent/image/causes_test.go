// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package image_test

import (
	"bytes"
	"context"
	"crypto/sha512"
	"crypto/tls"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"syscall"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/static"
	"github.com/google/go-containerregistry/pkg/v1/types"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/agent/image"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/agent/retry"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/agent/system"
)

// stoppedClock has the wall clock's waits, and a time of its own.
type stoppedClock struct {
	system.WallClock
	now time.Time
}

func (c stoppedClock) Now() time.Time { return c.now }

// fault is a registry that misbehaves.
type fault struct {
	hub   *hub
	store *image.Store
	dir   string
	clock stoppedClock
	// transport of the store.
	transport *http.Transport
	uri       string
}

// answers answers the requests for a part of the repository.
func (f *fault) answers(part string, code int, header http.Header, body string) {
	f.hub.disturb = func(w http.ResponseWriter, r *http.Request) bool {
		if !strings.Contains(r.URL.Path, part) {
			return false
		}
		for name, values := range header {
			w.Header()[name] = values
		}
		w.WriteHeader(code)
		_, _ = w.Write([]byte(body))
		return true
	}
}

// layers replaces the image by one with this layer.
func (f *fault) layer(content []byte, kind types.MediaType) {
	GinkgoHelper()
	made, err := mutate.AppendLayers(f.hub.build("amd64"), static.NewLayer(content, kind))
	Expect(err).NotTo(HaveOccurred())
	Expect(remote.Write(f.hub.reference("v2"), made, remote.WithTransport(f.hub.server.Client().Transport))).To(Succeed())
}

// get resolves, downloads and lists the image.
func (f *fault) get(ctx context.Context) error {
	resolved, err := f.store.Resolve(ctx, f.uri, "")
	if err != nil {
		return err
	}
	if err := f.store.Download(ctx, resolved); err != nil {
		return err
	}
	_, err = f.store.Unpacked(ctx, resolved.Digest)
	return err
}

const (
	final = true
	again = false
)

var _ = Describe("The cause of a failure", func() {
	var f *fault
	BeforeEach(func() {
		f = &fault{hub: newHub(), dir: GinkgoT().TempDir(), clock: stoppedClock{now: time.Date(2026, 11, 2, 3, 4, 5, 0, time.UTC)}}
		f.hub.push("v2", "amd64")
		f.transport = f.hub.server.Client().Transport.(*http.Transport).Clone()
		f.uri = "oci://" + f.hub.host() + "/os:v2"
	})

	// of returns the error of two tries, which is the same.
	of := func() error {
		GinkgoHelper()
		f.store = image.NewStore(image.Options{Directory: f.dir, Transport: f.transport, Architecture: "amd64", Clock: f.clock})
		first := f.get(context.Background())
		Expect(first).To(HaveOccurred())
		Expect(f.get(context.Background())).To(MatchError(first.Error()))
		return first
	}

	DescribeTable("has a class and a text", func(cause func(), isFinal bool, text string) {
		cause()
		err := of()
		var terminal *image.Terminal
		Expect(errors.As(err, &terminal)).To(Equal(isFinal), "%v", err)
		Expect(err).To(MatchError(MatchRegexp(text)))
		Expect(len(err.Error())).To(BeNumerically("<", 700))
	},
		Entry("401", func() { f.answers("/v2/os/", 401, nil, "") }, final, `denies access to image .* \(HTTP 401\)`),
		Entry("403, with what the registry says", func() {
			f.answers("/v2/os/", 403, nil, `{"errors":[{"code":"DENIED","message":"no pull for os, authorization: Bearer eyJhbGciOi.abc"}]}`)
		}, final, `\(HTTP 403\): check the name, and the host's registry credentials: no pull for os, authorization: \.\.\.`),
		Entry("401, with a number of the request", func() {
			requests := 0
			f.hub.disturb = func(w http.ResponseWriter, r *http.Request) bool {
				if !strings.Contains(r.URL.Path, "/v2/os/") {
					return false
				}
				requests++
				w.WriteHeader(http.StatusUnauthorized)
				_, _ = fmt.Fprintf(w, `{"errors":[{"code":"UNAUTHORIZED","message":"not you. CorrelationId: 0b1d1a2c-7f0e-4b1e-9f53-%012x"}]}`, requests)
				return true
			}
		}, final, `credentials: not you\. CorrelationId: \.\.\.$`),
		Entry("no manifest", func() { f.answers("/manifests/", 404, nil, "") }, final, `^image .* does not exist in registry`),
		Entry("no manifest that its index lists", func() {
			index := mutate.AppendManifests(empty.Index, mutate.IndexAddendum{
				Add: f.hub.build("amd64"), Descriptor: v1.Descriptor{Platform: &v1.Platform{OS: "linux", Architecture: "amd64"}},
			})
			Expect(remote.WriteIndex(f.hub.reference("v2"), index, remote.WithTransport(f.hub.server.Client().Transport))).To(Succeed())
			f.answers("/manifests/sha256:", 404, nil, `{"errors":[{"code":"MANIFEST_UNKNOWN","message":"manifest unknown"}]}`)
		}, again, `answers HTTP 404 for image \S+: manifest unknown$`),
		Entry("no blob", func() { f.answers("/blobs/", 404, nil, "") }, again,
			`^registry \S+ does not have blob sha256:[0-9a-f]{64} of image \S+, of which it has the manifest`),
		Entry("no registry", func() { f.answers("/v2/", 404, nil, "<html>") }, again, `answers HTTP 404 for image \S+$`),
		Entry("408", func() { f.answers("/v2/os/", 408, nil, "") }, again, `answers HTTP 408 for image`),
		Entry("429", func() {
			f.answers("/v2/os/", 429, nil, `{"errors":[{"code":"TOOMANYREQUESTS","message":"slow down"}]}`)
		}, again, `answers HTTP 429 for image \S+: slow down$`),
		Entry("500", func() { f.answers("/v2/os/", 500, nil, "") }, again, `answers HTTP 500 for image`),
		Entry("503 for a blob", func() { f.answers("/blobs/", 503, nil, "") }, again, `answers HTTP 503 for blob sha256:`),
		Entry("an unknown authority", func() { f.transport.TLSClientConfig = &tls.Config{} }, final, `an authority that the host does not trust`),
		Entry("an expired certificate", func() {
			f.transport.TLSClientConfig.Time = func() time.Time { return time.Date(2200, 1, 1, 0, 0, 0, 0, time.UTC) }
		}, final, `expired or not yet valid; check the host's clock`),
		Entry("a certificate for another host", func() { f.transport.TLSClientConfig.ServerName = "other.invalid" }, final, `its certificate is for another name`),
		Entry("no such name", func() {
			f.transport.DialContext = func(context.Context, string, string) (net.Conn, error) {
				return nil, &net.DNSError{Name: "r", IsNotFound: true}
			}
		}, again, `its name cannot be resolved`),
		Entry("a refused connection", func() { f.hub.server.Close() }, again, `the connection is refused`),
		Entry("a time-out", func() {
			f.transport.DialContext = func(context.Context, string, string) (net.Conn, error) { return nil, os.ErrDeadlineExceeded }
		}, again, `the request timed out`),
		Entry("anything else, with what the library says", func() {
			f.transport.DialContext = func(context.Context, string, string) (net.Conn, error) {
				return nil, errors.New("dial https://user:password@proxy/?key=value from 10.0.0.1:4711->10.0.0.2:443 failed")
			}
		}, again, `the transfer failed: .*dial https://proxy/\?\.\.\. from 10\.0\.0\.2:443 failed$`),
		Entry("a body that ends early", func() {
			f.answers("/blobs/", 200, http.Header{"Content-Length": {"5000"}}, "x")
		}, again, `of image|interrupted`),
		Entry("another content than its digest", func() {
			f.hub.disturb = func(w http.ResponseWriter, r *http.Request) bool {
				if !strings.Contains(r.URL.Path, "/blobs/") || r.Method != http.MethodGet {
					return false
				}
				_, _ = w.Write([]byte(strings.Repeat("x", 1024)))
				w.(http.Flusher).Flush() // so that it has no length
				return true
			}
		}, again, `sent another content than the digest or size of blob sha256:\S+ of image \S+$`),
		Entry("a manifest of schema 1", func() {
			f.answers("/manifests/", 200, http.Header{"Content-Type": {string(types.DockerManifestSchema1Signed)}}, `{"schemaVersion":1}`)
		}, final, `unsupported media type \(schema 1\)`),
		Entry("a manifest that is none", func() {
			f.answers("/manifests/", 200, http.Header{"Content-Type": {string(types.OCIManifestSchema1)}}, `<html>`)
		}, again, `the transfer failed: invalid character`),
		Entry("a layer that is no tar archive", func() { f.layer([]byte(strings.Repeat("no archive ", 100)), types.OCIUncompressedLayer) }, final,
			`^layer sha256:\S+ of image sha256:\S+ cannot be unpacked, it is not a tar archive that is whole \(archive/tar: invalid tar header\)`),
		Entry("a layer of corrupt gzip", func() {
			f.layer(append([]byte{0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3}, bytes.Repeat([]byte{0xff}, 100)...), types.OCILayer)
		}, final, `cannot be unpacked, it is not a tar archive that is whole`),
		Entry("a sha512 digest", func() {
			sum := sha512.Sum512([]byte("x"))
			manifest := map[string]any{
				"schemaVersion": 2, "mediaType": types.OCIManifestSchema1,
				"config": map[string]any{"mediaType": types.OCIConfigJSON, "size": 1, "digest": "sha512:" + hex.EncodeToString(sum[:])}, "layers": []any{},
			}
			encoded, err := json.Marshal(manifest)
			Expect(err).NotTo(HaveOccurred())
			f.answers("/manifests/", 200, http.Header{"Content-Type": {string(types.OCIManifestSchema1)}}, string(encoded))
		}, final, `has a digest that is not of sha256 \(unsupported hash: .*sha512`),
		Entry("a redirect to a private address", func() {
			f.answers("/blobs/", 307, http.Header{"Location": {"https://10.0.0.1/blob?signature=secret"}}, "")
		}, final, `refers to a private address for blob sha256:\S+ of image \S+, which is refused: SSRF protection: .*10\.0\.0\.1.*; give that host a name`),
		Entry("a token service at a private address", func() {
			f.answers("/v2/", 401, http.Header{"Www-Authenticate": {`Bearer realm="https://10.0.0.1/token",service="r"`}}, "")
		}, final, `refers to a private address for image \S+, which is refused: realm host "10\.0\.0\.1" is a private`),
		Entry("another host of blobs, which denies its signed address", func() {
			other := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(403) }))
			other.TLS = f.hub.server.TLS
			other.StartTLS()
			DeferCleanup(other.Close)
			_, port, err := net.SplitHostPort(other.Listener.Addr().String())
			Expect(err).NotTo(HaveOccurred())
			f.transport.DialContext = func(ctx context.Context, network, address string) (net.Conn, error) {
				return (&net.Dialer{}).DialContext(ctx, network, strings.Replace(address, "example.com", "127.0.0.1", 1))
			}
			f.answers("/blobs/", 307, http.Header{"Location": {fmt.Sprintf("https://example.com:%s/blob?signature=secret", port)}}, "")
		}, again, `^example\.com, to which registry \S+ refers, answers HTTP 403 for blob sha256:`),
	)

	DescribeTable("names the host that it is about", func(dial func(port string) (net.Conn, error), isFinal bool, text string) {
		f.transport.DialContext = func(ctx context.Context, network, address string) (net.Conn, error) {
			if strings.HasPrefix(address, "blobs.invalid:") {
				_, port, err := net.SplitHostPort(f.hub.host())
				Expect(err).NotTo(HaveOccurred())
				return dial(port)
			}
			return (&net.Dialer{}).DialContext(ctx, network, address)
		}
		f.answers("/blobs/", 307, http.Header{"Location": {"https://blobs.invalid:9000/blob?signature=secret"}}, "")
		err := of()
		Expect(errors.As(err, new(*image.Terminal))).To(Equal(isFinal))
		Expect(err).To(MatchError(MatchRegexp(`^blobs\.invalid, to which registry 127\.0\.0\.1:\d+ refers` + text)))
	},
		Entry("a connection that is refused", func(string) (net.Conn, error) { return nil, syscall.ECONNREFUSED }, again,
			`, cannot be reached for blob sha256:\S+ of image \S+: the connection is refused$`),
		Entry("a certificate", func(port string) (net.Conn, error) { return net.Dial("tcp", "127.0.0.1:"+port) }, final,
			`: its certificate is for another name; images are only fetched`),
	)

	DescribeTable("has the wait that the registry asks for", func(header func() string, wait time.Duration) {
		f.answers("/blobs/", 429, http.Header{"Retry-After": {header()}}, "")
		Expect(retry.Asked(of())).To(Equal(wait))
	},
		Entry("in seconds", func() string { return "90" }, 90*time.Second),
		Entry("as a date", func() string { return f.clock.Now().Add(2 * time.Minute).UTC().Format(http.TimeFormat) }, 2*time.Minute),
		Entry("as a date that has passed", func() string { return f.clock.Now().Add(-time.Minute).UTC().Format(http.TimeFormat) }, time.Duration(0)),
		Entry("at most", func() string { return "86400" }, 10*time.Minute),
		Entry("not in words", func() string { return "soon" }, time.Duration(0)),
	)

	It("is final where nothing can be written", func() {
		f.transport.DialContext = func(context.Context, string, string) (net.Conn, error) {
			return nil, &fs.PathError{Op: "open", Path: "x.partial", Err: syscall.EROFS} // as a write would fail
		}
		var terminal *image.Terminal
		err := of()
		Expect(errors.As(err, &terminal)).To(BeTrue())
		Expect(err).To(MatchError(ContainSubstring("cannot be stored in the agent's work directory: its file system is read-only")))
	})

	It("is a damaged cache where a layer on the disk is not what was downloaded, which is then downloaded again", func() {
		f.store = image.NewStore(image.Options{Directory: f.dir, Transport: f.transport, Architecture: "amd64", Clock: f.clock})
		resolved, err := f.store.Resolve(context.Background(), f.uri, "")
		Expect(err).NotTo(HaveOccurred())
		Expect(f.store.Download(context.Background(), resolved)).To(Succeed())
		layers := layersOf(f.hub, resolved)
		path := f.dir + "/" + strings.TrimPrefix(resolved.Digest, "sha256:") + "/blobs/sha256/" + layers[0].Hex
		Expect(os.WriteFile(path, []byte("damaged"), 0o600)).To(Succeed())
		_, err = f.store.Unpacked(context.Background(), resolved.Digest)
		Expect(err).To(MatchError(ContainSubstring("is damaged, and is downloaded again")))
		Expect(errors.As(err, new(*image.Terminal))).To(BeFalse())
		Expect(f.get(context.Background())).To(Succeed())
	})
})

func layersOf(h *hub, resolved image.Image) []v1.Hash {
	GinkgoHelper()
	pulled, err := remote.Image(h.reference("v2"), remote.WithTransport(h.server.Client().Transport))
	Expect(err).NotTo(HaveOccurred())
	Expect(digestOf(pulled)).To(Equal(resolved.Digest))
	manifest, err := pulled.Manifest()
	Expect(err).NotTo(HaveOccurred())
	var names []v1.Hash
	for _, layer := range manifest.Layers {
		names = append(names, layer.Digest)
	}
	return names
}
