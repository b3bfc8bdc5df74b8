// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package image

import (
	"fmt"

	"github.com/google/go-containerregistry/pkg/name"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/imageuri"
)

// parse parses an image URI. A pinned digest replaces the tag, but not a digest that the operator wrote: the pinned one was resolved by
// another host, which could be wrong.
func (s *Store) parse(uri, digest string) (name.Reference, error) {
	reference, err := imageuri.Parse(uri)
	if err != nil {
		return nil, &Terminal{Message: err.Error()}
	}
	if s.isInsecure(reference.Context()) {
		if reference, err = name.ParseReference(reference.Name(), name.Insecure); err != nil {
			return nil, terminalf("image %q: %s", uri, err)
		}
	}
	if digest == "" {
		return reference, nil
	}
	if !imageuri.IsDigest(digest) {
		return nil, terminalf("digest %q is not of the form sha256:<64 hex digits>", digest)
	}
	if _, written := reference.(name.Digest); written {
		return reference, nil
	}
	return reference.Context().Digest(digest), nil
}

// Terminal is an error that a retry does not resolve. Its text is for operators.
type Terminal struct{ Message string }

// Error is the message.
func (t *Terminal) Error() string { return t.Message }

func terminalf(format string, args ...any) error {
	return &Terminal{Message: fmt.Sprintf(format, args...)}
}
