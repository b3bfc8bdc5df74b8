// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package image

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/remote/transport"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/imagetrust"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/wire"
)

// Bounds on what is verified. A registry can hold as many signatures of an image as anybody has pushed.
const (
	maxSignatures = 50
	maxPayload    = 64 << 10 // bytes
	// A bundle of cosign has about 10 KiB, and parsing a maliciously crafted one is slow.
	maxBundle = 64 << 10 // bytes
	// maxReasons is how many signatures a message mentions: the API truncates messages.
	maxReasons = 3
)

// Verify returns a *Terminal error unless a resolved image has a signature that the rule accepts. The signature may be of the image itself
// or of the index that its URI names, which cosign signs by default: signing an index signs the digests in it.
func (s *Store) Verify(ctx context.Context, wanted Image, by *wire.ImageVerification) error {
	ctx = withAsks(ctx)
	reference, err := s.parse(wanted.URI, wanted.Digest)
	if err != nil {
		return err
	}
	rule, err := imagetrust.For(by, reference.Context())
	if err != nil {
		return terminalf("image %s: %s", wanted.URI, err)
	}
	if rule == nil {
		return nil
	}
	var reasons []string
	for _, candidate := range []func(context.Context, Image) (string, error){ownDigest, s.indexDigest} {
		digest, err := candidate(ctx, wanted)
		if err != nil {
			return explain(ctx, reference, err)
		}
		if digest == "" {
			continue
		}
		verdict, err := s.verifyDigest(ctx, reference.Context(), digest, rule)
		if err != nil {
			return explain(ctx, reference, err)
		}
		if verdict.signed {
			return nil
		}
		reasons = append(reasons, verdict.reasons...)
	}
	if rule.Problem != "" {
		reasons = slices.Insert(reasons, 0, "no identity can be verified: "+rule.Problem)
	}
	return terminalf("image %s (%s) has no accepted signature for prefix %s of imageVerification: %s",
		wanted.URI, wanted.Digest, rule.Prefix, strings.Join(reasons[:min(len(reasons), maxReasons)], "; "))
}

func ownDigest(_ context.Context, wanted Image) (string, error) { return wanted.Digest, nil }

// indexDigest returns the digest of the index that the URI names; empty if the URI names none, or one that no longer contains the image.
func (s *Store) indexDigest(ctx context.Context, wanted Image) (string, error) {
	reference, err := s.parse(wanted.URI, "")
	if err != nil {
		return "", err
	}
	descriptor, err := remote.Get(reference, s.options(ctx, reference.Context())...)
	if isMissing(err) {
		return "", nil
	}
	if err != nil || !descriptor.MediaType.IsIndex() {
		return "", err
	}
	index, err := descriptor.ImageIndex()
	if err != nil {
		return "", err
	}
	manifest, err := index.IndexManifest()
	if err != nil {
		return "", err
	}
	lists := slices.ContainsFunc(manifest.Manifests, func(each v1.Descriptor) bool { return each.Digest.String() == wanted.Digest })
	if !lists {
		return "", nil
	}
	return descriptor.Digest.String(), nil
}

// verdict on the signatures that were found.
type verdict struct {
	// signed is whether one of them was accepted.
	signed bool
	// reasons why none was accepted; empty if there is no signature.
	reasons []string
}

func counts() verdict { return verdict{signed: true} }

func refused(reasons ...string) verdict { return verdict{reasons: reasons} }

// verifyDigest looks for an accepted signature of a digest, both at the tag of older versions of cosign and in bundles.
func (s *Store) verifyDigest(ctx context.Context, repository name.Repository, digest string, rule *imagetrust.Rule) (verdict, error) {
	tagged, err := s.verifyTagged(ctx, repository, digest, rule)
	if err != nil || tagged.signed {
		return tagged, err
	}
	bundled, err := s.verifyBundles(ctx, repository, digest, rule)
	if err != nil || bundled.signed {
		return bundled, err
	}
	if len(tagged.reasons)+len(bundled.reasons) == 0 {
		return refused("it is not signed: there is no " + repository.Tag(imagetrust.Tag(digest)).Name() + ", and no bundle of sigstore refers to " + digest), nil
	}
	return refused(append(tagged.reasons, bundled.reasons...)...), nil
}

// verifyTagged verifies the signatures at the tag of a digest.
func (s *Store) verifyTagged(ctx context.Context, repository name.Repository, digest string, rule *imagetrust.Rule) (verdict, error) {
	tag := repository.Tag(imagetrust.Tag(digest))
	stored, err := remote.Get(tag, s.options(ctx, repository)...)
	if isMissing(err) {
		return refused(), nil
	}
	if err != nil {
		return refused(), err
	}
	if !stored.MediaType.IsImage() {
		return refused(tag.Name() + " is not a cosign signature"), nil
	}
	signatures, err := stored.Image()
	if err != nil {
		return refused(), err
	}
	return verifyAll(signatures, tag, digest, rule)
}

func verifyAll(signatures v1.Image, tag name.Tag, digest string, rule *imagetrust.Rule) (verdict, error) {
	manifest, err := signatures.Manifest()
	if err != nil {
		return refused(), err
	}
	if len(manifest.Layers) == 0 || len(manifest.Layers) > maxSignatures {
		return refused(fmt.Sprintf("%s holds %d signatures, from 1 to %d are supported", tag.Name(), len(manifest.Layers), maxSignatures)), nil
	}
	var reasons []string
	for i, layer := range manifest.Layers {
		why, err := verifyOne(signatures, layer, digest, rule)
		if err != nil {
			return refused(), err
		}
		if why == "" {
			return counts(), nil
		}
		reasons = append(reasons, fmt.Sprintf("signature %d in %s was rejected: %s", i+1, tag.Name(), why))
	}
	return refused(reasons...), nil
}

// verifyOne returns why a signature is rejected, or nothing if it is accepted.
func verifyOne(signatures v1.Image, layer v1.Descriptor, digest string, rule *imagetrust.Rule) (string, error) {
	if layer.MediaType != imagetrust.MediaType || layer.Size > maxPayload {
		return unexpected(layer, imagetrust.MediaType, maxPayload), nil
	}
	signed, err := contentOf(signatures, layer)
	if err != nil {
		return "", err
	}
	if err := rule.Verify(digest, signed, layer.Annotations); err != nil {
		return err.Error(), nil
	}
	return "", nil
}

func unexpected(layer v1.Descriptor, mediaType string, most int64) string {
	return fmt.Sprintf("it is of type %.60q and has %d bytes, not %s and at most %d", layer.MediaType, layer.Size, mediaType, most)
}

// contentOf reads a layer whose size has been checked.
func contentOf(image v1.Image, layer v1.Descriptor) ([]byte, error) {
	blob, err := image.LayerByDigest(layer.Digest)
	if err != nil {
		return nil, err
	}
	content, err := blob.Compressed()
	if err != nil {
		return nil, err
	}
	defer content.Close()
	return io.ReadAll(io.LimitReader(content, layer.Size))
}

// isMissing reports whether a registry answered that the reference does not exist.
func isMissing(err error) bool {
	var answer *transport.Error
	return errors.As(err, &answer) && answer.StatusCode == http.StatusNotFound
}
