// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package image

import (
	"archive/tar"
	"bytes"
	"context"
	"crypto/rand"
	"fmt"
	"io"
	"maps"
	"runtime"
	"strconv"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/tarball"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/double/source"
)

// DefaultBytes is the default size of an image.
const DefaultBytes = 1 << 20

// blobs is the number of files that the random content of an image is split into, which is the
// granularity at which its writing can be slowed down or killed.
const blobs = 8

// OS is an image to build. Two builds of the same OS have different digests.
type OS struct {
	// Version is the PRETTY_NAME.
	Version string
	// KubeletVersion in the image, such as v1.36.3.
	KubeletVersion string
	// Boot is one of source.BootOK (default), source.BootUnhealthy, source.BootUnrouted and source.BootNone.
	Boot string
	// UpgradeSeconds is how long writing the image takes.
	UpgradeSeconds float64
	// BootSeconds is how long the image takes to boot; 0 is the host's default.
	BootSeconds float64
	// UpgradeKilled kills the first upgrade to it on each host halfway.
	UpgradeKilled bool
	// Bytes is the size of its random content. Default DefaultBytes.
	Bytes int64
	// MultiArch creates an index of this machine's architecture and another one.
	MultiArch bool
	// Modes adds empty files, with their modes as for chmod, by path.
	Modes map[string]int64
	// Labels are additional labels.
	Labels map[string]string
}

// Image that was pushed.
type Image struct {
	Repository, Tag string
	// Ref is host:port/repository:tag.
	Ref string
	// Digest of what the tag refers to: for several architectures, that of the index.
	Digest string
	// PlatformDigest of the manifest for this machine, which state.yaml records.
	PlatformDigest string
}

// URI is the image as written in imageURI.
func (i Image) URI() string { return "oci://" + i.Ref }

// Push builds an image and pushes it.
func (r *Registry) Push(ctx context.Context, repository, tag string, o OS) (Image, error) {
	pushed := Image{Repository: repository, Tag: tag, Ref: r.addr + "/" + repository + ":" + tag}
	ref, err := name.ParseReference(pushed.Ref, name.Insecure)
	if err != nil {
		return Image{}, fmt.Errorf("pushing image: %w", err)
	}
	img, err := build(o, runtime.GOARCH)
	if err != nil {
		return Image{}, fmt.Errorf("building image %s: %w", pushed.Ref, err)
	}
	digest, err := img.Digest()
	if err != nil {
		return Image{}, fmt.Errorf("building image %s: %w", pushed.Ref, err)
	}
	pushed.PlatformDigest, pushed.Digest = digest.String(), digest.String()
	opts := []remote.Option{remote.WithContext(ctx), remote.WithTransport(r.Transport())}
	if !o.MultiArch {
		return pushed, remote.Write(ref, img, opts...)
	}
	index, err := buildIndex(o, img)
	if err != nil {
		return Image{}, fmt.Errorf("building image %s: %w", pushed.Ref, err)
	}
	if digest, err = index.Digest(); err != nil {
		return Image{}, fmt.Errorf("building image %s: %w", pushed.Ref, err)
	}
	pushed.Digest = digest.String()
	return pushed, remote.WriteIndex(ref, index, opts...)
}

func buildIndex(o OS, img v1.Image) (v1.ImageIndex, error) {
	other := "arm64"
	if runtime.GOARCH == other {
		other = "amd64"
	}
	foreign, err := build(o, other)
	if err != nil {
		return nil, err
	}
	platform := func(arch string) v1.Descriptor {
		return v1.Descriptor{Platform: &v1.Platform{OS: "linux", Architecture: arch}}
	}
	return mutate.AppendManifests(empty.Index,
		mutate.IndexAddendum{Add: foreign, Descriptor: platform(other)},
		mutate.IndexAddendum{Add: img, Descriptor: platform(runtime.GOARCH)}), nil
}

func build(o OS, arch string) (v1.Image, error) {
	tree, err := o.tree()
	if err != nil {
		return nil, err
	}
	layer, err := tarball.LayerFromOpener(func() (io.ReadCloser, error) {
		return io.NopCloser(bytes.NewReader(tree)), nil
	})
	if err != nil {
		return nil, err
	}
	img, err := mutate.AppendLayers(empty.Image, layer)
	if err != nil {
		return nil, err
	}
	cfg, err := img.ConfigFile()
	if err != nil {
		return nil, err
	}
	cfg = cfg.DeepCopy()
	cfg.OS, cfg.Architecture, cfg.Config.Labels = "linux", arch, o.labels()
	return mutate.ConfigFile(img, cfg)
}

func (o OS) labels() map[string]string {
	labels := map[string]string{source.LabelBoot: source.BootOK}
	set := func(name, value string) {
		if value != "" && value != "0" {
			labels[name] = value
		}
	}
	set(source.LabelVersion, o.Version)
	set(source.LabelKubelet, o.KubeletVersion)
	set(source.LabelBoot, o.Boot)
	set(source.LabelUpgradeSeconds, strconv.FormatFloat(o.UpgradeSeconds, 'f', -1, 64))
	set(source.LabelBootSeconds, strconv.FormatFloat(o.BootSeconds, 'f', -1, 64))
	if o.UpgradeKilled {
		set(source.LabelUpgradeKilled, source.Once)
	}
	maps.Copy(labels, o.Labels)
	return labels
}

// tree is an archive with an os-release and files of random content, which do not compress.
func (o OS) tree() ([]byte, error) {
	size := o.Bytes
	if size == 0 {
		size = DefaultBytes
	}
	var b bytes.Buffer
	tw := tar.NewWriter(&b)
	release := fmt.Sprintf("NAME=\"Elemental lab\"\nID=elemental-lab\nPRETTY_NAME=%q\n", o.Version)
	if err := add(tw, source.OSRelease, 0o644, []byte(release)); err != nil {
		return nil, err
	}
	for path, mode := range o.Modes {
		if err := add(tw, path, mode, nil); err != nil {
			return nil, err
		}
	}
	for i := range blobs {
		content := make([]byte, size/blobs)
		if _, err := rand.Read(content); err != nil {
			return nil, err
		}
		if err := add(tw, fmt.Sprintf("usr/lib/elemental-lab/%d", i), 0o644, content); err != nil {
			return nil, err
		}
	}
	return b.Bytes(), tw.Close()
}

func add(tw *tar.Writer, name string, mode int64, content []byte) error {
	h := &tar.Header{Name: name, Size: int64(len(content)), Mode: mode}
	if err := tw.WriteHeader(h); err != nil {
		return err
	}
	_, err := tw.Write(content)
	return err
}
