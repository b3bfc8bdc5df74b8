// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package image

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/remote/transport"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/imagetrust"
)

// verifyBundles verifies the Sigstore bundles that refer to a digest.
func (s *Store) verifyBundles(ctx context.Context, repository name.Repository, digest string, rule *imagetrust.Rule) (verdict, error) {
	bundles, err := s.bundlesOf(ctx, repository.Digest(digest))
	if refusal := refusalOf(err); refusal != nil {
		return refused(fmt.Sprintf("registry %s does not say which bundles refer to %s (HTTP %d)", repository.RegistryStr(), digest, refusal.StatusCode)), nil
	}
	if err != nil {
		return refused(), err
	}
	if len(bundles) > maxSignatures {
		return refused(fmt.Sprintf("%d bundles refer to %s, at most %d are verified", len(bundles), digest, maxSignatures)), nil
	}
	var reasons []string
	for _, each := range bundles {
		why, err := s.verifyBundle(ctx, repository.Digest(each.Digest.String()), digest, rule)
		if isItsOwn(err) {
			why, err = "it cannot be read", nil
		}
		if err != nil {
			return refused(), err
		}
		if why == "" {
			return counts(), nil
		}
		reasons = append(reasons, fmt.Sprintf("bundle %s was rejected: %s", each.Digest, why))
	}
	return refused(reasons...), nil
}

// isItsOwn reports whether an error concerns a single bundle. It must not hide the bundles after it: anybody who can push may have created
// it.
func isItsOwn(err error) bool {
	var (
		syntax *json.SyntaxError
		kind   *json.UnmarshalTypeError
	)
	return refusalOf(err) != nil || errors.As(err, &syntax) || errors.As(err, &kind)
}

// refusalOf returns the permanent refusal in an error, or nil. A registry that refuses to list referrers may still have signatures at tags.
func refusalOf(err error) *transport.Error {
	var answer *transport.Error
	if !errors.As(err, &answer) || answer.StatusCode >= http.StatusInternalServerError ||
		answer.StatusCode == http.StatusTooManyRequests || answer.StatusCode == http.StatusRequestTimeout {
		return nil
	}
	return answer
}

// bundlesOf lists the bundles that refer to a digest, through the referrers API or, in a registry without it, through the fallback tag.
func (s *Store) bundlesOf(ctx context.Context, of name.Digest) ([]v1.Descriptor, error) {
	referrers, err := remote.Referrers(of, append(s.options(ctx, of.Context()), remote.WithFilter("artifactType", imagetrust.BundleMediaType))...)
	if err != nil {
		return nil, err
	}
	manifest, err := referrers.IndexManifest()
	if err != nil {
		return nil, err
	}
	return manifest.Manifests, nil
}

// verifyBundle returns why a bundle is rejected, or nothing if it is accepted. What the registry says that the bundle refers to is ignored:
// only the signed content proves it.
func (s *Store) verifyBundle(ctx context.Context, bundle name.Digest, digest string, rule *imagetrust.Rule) (string, error) {
	stored, err := remote.Image(bundle, s.options(ctx, bundle.Context())...)
	if isMissing(err) {
		return "it is not there", nil
	}
	if err != nil {
		return "", err
	}
	manifest, err := stored.Manifest()
	if err != nil {
		return "", err
	}
	if len(manifest.Layers) != 1 {
		return fmt.Sprintf("it has %d layers, not 1", len(manifest.Layers)), nil
	}
	layer := manifest.Layers[0]
	if layer.MediaType != imagetrust.BundleMediaType || layer.Size > maxBundle {
		return unexpected(layer, imagetrust.BundleMediaType, maxBundle), nil
	}
	content, err := contentOf(stored, layer)
	if err != nil {
		return "", err
	}
	if err := rule.VerifyBundle(digest, content); err != nil {
		return err.Error(), nil
	}
	return "", nil
}
