// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package source

import (
	"archive/tar"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"
)

// LabelsFile in a root tree holds the labels of the image's configuration as JSON. Real trees have no
// such file: by it, a host of the lab finds out how the booted image shall behave.
const LabelsFile = "usr/share/elemental-lab/labels.json"

// Pulls are retried as the CLI does, but with less than its delay of 3 s.
const (
	pullRetries = 3
	pullDelay   = 200 * time.Millisecond
)

// Options of an extraction.
type Options struct {
	// UserAgent sent to registries.
	UserAgent string
	// Transport to registries; http.DefaultTransport unless set.
	Transport http.RoundTripper
	// Started is called with the image's digest and labels before its tree is written.
	Started func(digest string, labels map[string]string)
	// Progress is called after each file, with the fraction of the image written so far.
	Progress func(done float64)
}

// Extract writes the root tree of a source into a directory and returns the digest of its manifest;
// empty for a directory.
func (s Source) Extract(ctx context.Context, dir string, o Options) (string, error) {
	switch s.Kind {
	case OCI:
		return s.extractImage(ctx, dir, o)
	case Dir:
		if err := os.CopyFS(dir, os.DirFS(s.Value)); err != nil {
			return "", fmt.Errorf("copying %s: %w", s.Value, err)
		}
		o.started("", readLabels(dir))
		return "", nil
	case File:
		return "", Unpack(s.Value, dir)
	default:
		return "", errors.New("undefined source")
	}
}

func (o Options) started(digest string, labels map[string]string) {
	if o.Started != nil {
		o.Started(digest, labels)
	}
}

func (s Source) extractImage(ctx context.Context, dir string, o Options) (string, error) {
	img, err := s.Pull(ctx, o)
	if err != nil {
		return "", err
	}
	digest, err := img.Digest()
	if err != nil {
		return "", fmt.Errorf("reading digest: %w", err)
	}
	labels, size, err := inspect(img)
	if err != nil {
		return "", err
	}
	o.started(digest.String(), labels)
	if err := writeLabels(dir, labels); err != nil {
		return "", err
	}
	tree := mutate.Extract(img)
	err = untar(tree, dir, func(written int64) {
		if o.Progress != nil {
			o.Progress(float64(written) / float64(max(size, 1)))
		}
	})
	return digest.String(), errors.Join(err, tree.Close())
}

// Pull reads an image of a registry, for this platform. It tries again as often as the CLI does.
func (s Source) Pull(ctx context.Context, o Options) (v1.Image, error) {
	ref, err := name.ParseReference(s.Value, name.Insecure)
	if err != nil {
		return nil, fmt.Errorf("parsing reference: %w", err)
	}
	opts := []remote.Option{
		remote.WithContext(ctx), remote.WithUserAgent(o.UserAgent),
		remote.WithPlatform(v1.Platform{OS: "linux", Architecture: runtime.GOARCH}),
	}
	if o.Transport != nil {
		opts = append(opts, remote.WithTransport(o.Transport))
	}
	var img v1.Image
	for try := 0; ; try++ {
		if img, err = remote.Image(ref, opts...); err == nil || try == pullRetries {
			break
		}
		if err := wait(ctx, pullDelay); err != nil {
			return nil, err
		}
	}
	if err != nil {
		return nil, fmt.Errorf("pulling %s: %w", s.Value, err)
	}
	return img, nil
}

func wait(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}

func inspect(img v1.Image) (labels map[string]string, size int64, err error) {
	cfg, err := img.ConfigFile()
	if err != nil {
		return nil, 0, fmt.Errorf("reading image configuration: %w", err)
	}
	manifest, err := img.Manifest()
	if err != nil {
		return nil, 0, fmt.Errorf("reading manifest: %w", err)
	}
	for _, layer := range manifest.Layers {
		size += layer.Size
	}
	return cfg.Config.Labels, size, nil
}

func writeLabels(dir string, labels map[string]string) error {
	data, err := json.Marshal(labels)
	if err != nil {
		return err
	}
	path := filepath.Join(dir, LabelsFile)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return fmt.Errorf("writing labels: %w", err)
	}
	return os.WriteFile(path, data, 0o644)
}

func readLabels(dir string) map[string]string {
	labels := map[string]string{}
	if data, err := os.ReadFile(filepath.Join(dir, LabelsFile)); err == nil {
		_ = json.Unmarshal(data, &labels)
	}
	return labels
}

// untar extracts the directories, files and links of a tar stream. It rejects names that lead out of
// dir.
func untar(r io.Reader, dir string, progress func(written int64)) error {
	var written int64
	tr := tar.NewReader(r)
	for {
		h, err := tr.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("unpacking: %w", err)
		}
		if h.Name == endMark {
			return nil
		}
		if !filepath.IsLocal(filepath.Clean(strings.TrimPrefix(h.Name, "/"))) {
			return fmt.Errorf("unpacking: %q leads out of the tree", h.Name)
		}
		if err := writeEntry(tr, h, filepath.Join(dir, h.Name)); err != nil {
			return fmt.Errorf("unpacking %s: %w", h.Name, err)
		}
		written += h.Size
		progress(written)
	}
}

func writeEntry(r io.Reader, h *tar.Header, path string) error {
	if h.Typeflag == tar.TypeDir {
		return os.MkdirAll(path, 0o755)
	}
	if h.Typeflag != tar.TypeReg {
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(f, r)
	return errors.Join(err, f.Chmod(h.FileInfo().Mode()), f.Close()) // writing to a file clears its set-user-ID bit
}
