// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package image

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/remote"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/agent/system"
)

const (
	dialTimeout   = 15 * time.Second
	headerTimeout = 30 * time.Second
	hashPrefix    = "sha256:"
)

// Image of an OS, resolved.
type Image struct {
	// URI as the operator wrote it.
	URI string `json:"uri"`
	// Digest of the manifest for this platform.
	Digest string `json:"digest"`
	// Bytes is the compressed size: manifest, configuration and layers.
	Bytes int64 `json:"bytes"`
}

// Store keeps images in a directory.
type Store struct {
	directory string
	platform  v1.Platform
	insecure  []string
	verified  http.RoundTripper
	// unverified accepts any certificate.
	unverified http.RoundTripper
	clock      system.Clock
}

// Options of a Store.
type Options struct {
	// Directory that holds the images. It is created when needed.
	Directory string
	// Transport to registries. Default: the system's certificate authorities and proxy settings.
	Transport http.RoundTripper
	// Insecure are prefixes of the names of images that may be fetched without verified TLS, or without TLS. Default: none.
	Insecure []string
	// Architecture of the host as Go names it. Default: the agent's own.
	Architecture string
	// Clock for timing responses of registries. Default: the wall clock.
	Clock system.Clock
}

// NewStore returns a store.
func NewStore(options Options) *Store {
	if options.Transport == nil {
		options.Transport = newTransport()
	}
	if options.Architecture == "" {
		options.Architecture = runtime.GOARCH
	}
	if options.Clock == nil {
		options.Clock = system.WallClock{}
	}
	return &Store{
		directory:  options.Directory,
		platform:   v1.Platform{OS: "linux", Architecture: options.Architecture},
		insecure:   options.Insecure,
		verified:   options.Transport,
		unverified: withoutVerification(options.Transport),
		clock:      options.Clock,
	}
}

func newTransport() http.RoundTripper {
	return &http.Transport{
		Proxy:                 http.ProxyFromEnvironment,
		DialContext:           (&net.Dialer{Timeout: dialTimeout}).DialContext,
		TLSHandshakeTimeout:   dialTimeout,
		ResponseHeaderTimeout: headerTimeout,
		IdleConnTimeout:       dialTimeout,
	}
}

// Resolve resolves a URI. With a digest, exactly that manifest is fetched and the tag is ignored; a digest in the URI itself has to resolve
// to the same. A *Terminal error is not worth a retry.
func (s *Store) Resolve(ctx context.Context, uri, digest string) (Image, error) {
	_, resolved, err := s.resolve(ctx, uri, digest)
	return resolved, err
}

func (s *Store) resolve(ctx context.Context, uri, digest string) (v1.Image, Image, error) {
	if ctx.Value(asksKey{}) == nil {
		ctx = withAsks(ctx)
	}
	reference, err := s.parse(uri, digest)
	if err != nil {
		return nil, Image{}, err
	}
	remoteImage, err := remote.Image(reference, s.options(ctx, reference.Context())...)
	if err != nil {
		return nil, Image{}, s.explainPlatform(ctx, reference, err)
	}
	resolved, err := s.describe(remoteImage, uri)
	if err != nil {
		return nil, Image{}, explain(ctx, reference, err)
	}
	if digest != "" && resolved.Digest != digest {
		if reference.Identifier() != digest {
			return nil, Image{}, terminalf("image %s resolves to %s, but the rollout is pinned to %s, to which another host resolved it",
				reference.Name(), resolved.Digest, digest)
		}
		return nil, Image{}, terminalf("digest %s names an index of images; the digest of its image for %s is %s: pin that one",
			digest, s.platform.String(), resolved.Digest)
	}
	return remoteImage, resolved, nil
}

func (s *Store) options(ctx context.Context, of name.Repository) []remote.Option {
	return []remote.Option{
		remote.WithContext(ctx),
		remote.WithTransport(s.transport(of)),
		remote.WithPlatform(s.platform),
		remote.WithAuthFromKeychain(authn.DefaultKeychain),
		// The caller retries, since it can tell which errors are worth it.
		remote.WithRetryBackoff(remote.Backoff{Steps: 1}),
	}
}

func (s *Store) explainPlatform(ctx context.Context, reference name.Reference, err error) error {
	if strings.Contains(err.Error(), "no child with platform") {
		return terminalf("image %s has no manifest for %s", reference.Name(), s.platform.String())
	}
	return explain(ctx, reference, err)
}

func (s *Store) describe(remoteImage v1.Image, uri string) (Image, error) {
	digest, err := remoteImage.Digest()
	if err != nil {
		return Image{}, err
	}
	manifest, err := remoteImage.Manifest()
	if err != nil {
		return Image{}, err
	}
	configuration, err := remoteImage.ConfigFile()
	if err != nil {
		return Image{}, &blobError{manifest.Config.Digest.String(), err}
	}
	if architecture := configuration.Architecture; architecture != "" && architecture != s.platform.Architecture {
		return Image{}, terminalf("image %s is for %s, the host is %s", uri, architecture, s.platform.Architecture)
	}
	size, err := remoteImage.Size()
	if err != nil {
		return Image{}, err
	}
	size += manifest.Config.Size
	for _, layer := range manifest.Layers {
		size += layer.Size
	}
	return Image{URI: uri, Digest: digest.String(), Bytes: size}, nil
}

// Downloaded returns how many bytes of an image are in the store, up to Image.Bytes.
func (s *Store) Downloaded(digest string) int64 {
	blobs, _ := os.ReadDir(s.blob(digest, "")) // none yet
	total := int64(0)
	for _, blob := range blobs {
		if info, err := blob.Info(); err == nil {
			total += info.Size()
		}
	}
	return total
}

// Drop removes all images but those with the given digests.
func (s *Store) Drop(keep ...string) error {
	entries, err := os.ReadDir(s.directory)
	if os.IsNotExist(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("reading the image cache: %w", err)
	}
	for _, entry := range entries {
		if slices.Contains(keep, hashPrefix+entry.Name()) {
			continue
		}
		if err := os.RemoveAll(filepath.Join(s.directory, entry.Name())); err != nil {
			return fmt.Errorf("removing an image from the cache: %w", err)
		}
	}
	return nil
}
