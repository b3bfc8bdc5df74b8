// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package image

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/google/go-containerregistry/pkg/name"
)

var digestPattern = regexp.MustCompile(`^sha256:[0-9a-f]{64}$`)

// parse reads an image URI as the elemental CLI does: "oci:", "docker:", with or without slashes, or
// a bare reference. A pinned digest replaces the tag, but not a digest that the operator wrote: another
// host has found out the first, and could be wrong.
// Source: elemental-toolkit, ImageSource.
func parse(uri, digest string) (name.Reference, error) {
	bare := uri
	for _, scheme := range []string{"oci", "docker"} {
		if rest, found := strings.CutPrefix(uri, scheme+":"); found {
			bare = strings.TrimPrefix(rest, "//")
		}
	}
	for _, scheme := range []string{"dir:", "file:", "http:", "https:"} {
		if strings.HasPrefix(bare, scheme) {
			return nil, terminalf("image %q is not in a registry: use oci://<registry>/<repository>:<tag>", uri)
		}
	}
	if bare == "" {
		return nil, terminalf("osVersionManagement.osVersion.imageUri is empty: set it to oci://<registry>/<repository>:<tag>")
	}
	reference, err := name.ParseReference(bare)
	if err != nil {
		return nil, terminalf("image %q is not a valid reference: use oci://<registry>/<repository>:<tag>", uri)
	}
	if digest == "" {
		return reference, nil
	}
	if !digestPattern.MatchString(digest) {
		return nil, terminalf("digest %q is not of the form sha256:<64 hex digits>", digest)
	}
	if _, written := reference.(name.Digest); written {
		return reference, nil
	}
	return reference.Context().Digest(digest), nil
}

// Terminal is an error that trying again does not help against. Its text is for operators.
type Terminal struct{ Message string }

// Error is the message.
func (t *Terminal) Error() string { return t.Message }

func terminalf(format string, args ...any) error {
	return &Terminal{Message: fmt.Sprintf(format, args...)}
}
