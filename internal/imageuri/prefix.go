// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package imageuri

import (
	"errors"
	"strings"

	"github.com/google/go-containerregistry/pkg/name"
)

// Begins reports whether a name has a prefix that ends at a path separator: registry.test/os is not a prefix of registry.test/oss.
func Begins(name, prefix string) bool { return name == prefix || strings.HasPrefix(name, prefix+"/") }

// ParsePrefix returns a prefix in the canonical form of repository names, in which docker.io has another name.
func ParsePrefix(prefix string) (string, error) {
	const prefixRemedy = "use <registry> or <registry>/<beginning of the repository>, without scheme, tag or digest"
	registry, path, hasPath := strings.Cut(prefix, "/")
	parsed, err := name.NewRegistry(registry, name.StrictValidation)
	if err != nil || registry == "" || strings.Contains(registry, "*") {
		return "", errors.New(prefixRemedy)
	}
	if !hasPath {
		return parsed.Name(), nil
	}
	for _, part := range strings.Split(path, "/") {
		if part == "" {
			return "", errors.New(prefixRemedy)
		}
	}
	// A whole name has at least two letters, a prefix need not.
	if _, err := name.NewRepository("registry.invalid/of/"+path, name.StrictValidation); err != nil {
		return "", errors.New(prefixRemedy)
	}
	return parsed.Name() + "/" + path, nil
}
