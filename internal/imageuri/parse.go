// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package imageuri

import (
	"errors"
	"fmt"
	"strings"

	"github.com/google/go-containerregistry/pkg/name"
)

const remedy = "use oci://<registry>/<repository>:<tag>"

// Parse parses an image URI like the elemental CLI: "oci:", "docker:", with or without slashes, or a bare reference. Images that are not in
// a registry are rejected: hosts fetch from registries only. The text of an error is for operators.
// Source: elemental-toolkit, ImageSource.
func Parse(uri string) (name.Reference, error) {
	bare := uri
	for _, scheme := range []string{"oci", "docker"} {
		if rest, found := strings.CutPrefix(uri, scheme+":"); found {
			bare = strings.TrimPrefix(rest, "//")
		}
	}
	for _, scheme := range []string{"dir:", "file:", "http:", "https:"} {
		if strings.HasPrefix(bare, scheme) {
			return nil, fmt.Errorf("image %q is not in a registry: "+remedy, uri)
		}
	}
	if bare == "" {
		return nil, errors.New("osVersionManagement.osVersion.imageURI is empty: set it to oci://<registry>/<repository>:<tag>")
	}
	reference, err := name.ParseReference(bare)
	if err != nil {
		return nil, fmt.Errorf("image %q is not a valid reference: "+remedy, uri)
	}
	return reference, nil
}
