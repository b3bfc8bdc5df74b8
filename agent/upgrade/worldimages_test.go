// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package upgrade_test

import (
	"context"
	"errors"
	"slices"

	. "github.com/onsi/gomega"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/agent/image"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/wire"
)

// The registry of a world.

func (w *world) Resolve(_ context.Context, uri, digest string) (image.Image, error) {
	resolved := image.Image{URI: uri, Digest: w.digest, Bytes: w.bytes}
	if digest != "" {
		resolved.Digest = digest
	}
	err := w.boundary("resolve", func() error {
		if len(w.resolve) == 0 {
			return nil
		}
		err := w.resolve[0]
		w.resolve = w.resolve[1:]
		return err
	})
	if err != nil {
		return image.Image{}, err
	}
	return resolved, nil
}

func (w *world) Verify(_ context.Context, wanted image.Image, by *wire.ImageVerification) error {
	if by == nil {
		return nil
	}
	return w.boundary("verify", func() error {
		if by.Rules[0].PublicKeys[0] == wanted.Digest { // who signed it
			return nil
		}
		return &image.Terminal{Message: "it is not signed"}
	})
}

func (w *world) Download(_ context.Context, wanted image.Image) error {
	return w.boundary("download", func() error { w.downloaded[wanted.Digest] = true; return nil })
}

func (w *world) Downloaded(string) int64 { return w.had }

func (w *world) Unpacked(_ context.Context, digest string) (int64, error) {
	Expect(w.downloaded).To(HaveKeyWithValue(digest, true))
	return w.unpacked, w.boundary("unpacked", func() error { return nil })
}

func (w *world) FileList(_ context.Context, digest string) (string, error) {
	return digest + "/files.json", w.boundary("list files", func() error { return nil })
}

func (w *world) Serve(digest string) (string, func(), error) {
	if !w.downloaded[digest] {
		return "", nil, errors.New("not downloaded")
	}
	return "127.0.0.1:1/elemental/os@" + digest, func() {}, nil
}

func (w *world) Drop(keep ...string) error {
	return w.boundary("drop", func() error {
		if w.unwritable != nil {
			return w.unwritable
		}
		for digest := range w.downloaded {
			if !slices.Contains(keep, digest) {
				delete(w.downloaded, digest)
			}
		}
		return nil
	})
}
