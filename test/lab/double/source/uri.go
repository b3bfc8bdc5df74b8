// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package source

import (
	"fmt"
	"net/url"
	"path/filepath"
	"strings"

	"github.com/google/go-containerregistry/pkg/name"
)

// Kinds of sources; the scheme of an OCI one is oci: or docker:, or is omitted.
const (
	OCI  = "oci"
	Dir  = "dir"
	File = "file"
)

// Source of an image.
type Source struct {
	Kind, Value string
}

// String is the URI as recorded in state.yaml.
func (s Source) String() string {
	if s.Kind == "" || s.Value == "" {
		return ""
	}
	return s.Kind + "://" + s.Value
}

// Parse parses a URI as the CLI does. Where it returns an error, the CLI only warns and continues
// without a source.
func Parse(uri string) (Source, error) {
	u, err := url.Parse(uri)
	if err != nil {
		return Source{}, fmt.Errorf("parsing source %q: %w", uri, err)
	}
	value := u.Opaque
	if value == "" {
		value = filepath.Join(u.Host, u.Path)
	}
	switch u.Scheme {
	case OCI, "docker":
		return image(value)
	case Dir, File:
		return Source{Kind: u.Scheme, Value: value}, nil
	default:
		return image(uri)
	}
}

func image(ref string) (Source, error) {
	if _, err := name.ParseReference(ref, name.Insecure); err != nil {
		return Source{}, fmt.Errorf("invalid image reference %s", ref)
	}
	last := ref[strings.LastIndex(ref, "/")+1:]
	if !strings.ContainsAny(last, ":@") {
		ref += ":latest"
	}
	return Source{Kind: OCI, Value: ref}, nil
}
