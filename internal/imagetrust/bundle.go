// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package imagetrust

import (
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/sigstore/sigstore-go/pkg/bundle"
	"github.com/sigstore/sigstore-go/pkg/root"
	"github.com/sigstore/sigstore-go/pkg/verify"
	"github.com/sigstore/sigstore/pkg/signature"
)

const (
	// BundleMediaType of sigstore's bundles: of the artifact that refers to an image, and of its only layer.
	// Source: cosign, specs/BUNDLE_SPEC.md.
	BundleMediaType = "application/vnd.dev.sigstore.bundle.v0.3+json"

	// signPredicate is the type of a statement that only says that somebody signed the image. Other statements about an image, such as its
	// provenance or vulnerabilities, do not express trust in it.
	signPredicate = "https://sigstore.dev/cosign/sign/v1"

	digestPrefix = "sha256:"
)

// VerifyBundle reports whether a bundle is a signature of the image with this digest, by one of the rule's keys or identities. The
// text of an error is for operators.
func (r *Rule) VerifyBundle(digest string, content []byte) error {
	sum, err := hex.DecodeString(strings.TrimPrefix(digest, digestPrefix))
	if err != nil {
		return fmt.Errorf("%.80q is no digest of an image", digest)
	}
	signed := &bundle.Bundle{}
	if err := signed.UnmarshalJSON(content); err != nil {
		return errors.New("it is not a Sigstore bundle: " + legible(err))
	}
	// The library would accept an Ed25519 key's signature of an empty file for any file of which it is given only the digest; and signing a
	// file that happens to be a manifest does not express trust in an image.
	if signed.GetDsseEnvelope() == nil {
		return errors.New("it signs a file, not a statement about an image")
	}
	result, err := r.verifyEntity(signed, verify.WithArtifactDigest("sha256", sum))
	if err != nil {
		return err
	}
	if statement := result.Statement; statement != nil && statement.GetPredicateType() != signPredicate {
		return fmt.Errorf("it is an attestation of type %.80q, not a signature (%s)", statement.GetPredicateType(), signPredicate)
	}
	return nil
}

// verifyEntity verifies by key or certificate, whichever the signature was made with.
func (r *Rule) verifyEntity(signed verify.SignedEntity, artifact verify.ArtifactPolicyOption) (*verify.VerificationResult, error) {
	content, err := signed.VerificationContent()
	if err != nil {
		return nil, errors.New("it does not say how it was made: " + legible(err))
	}
	if content.Certificate() != nil {
		return r.identities.verify(signed, artifact)
	}
	if len(r.keys) == 0 {
		return nil, errors.New("it was made with a key, but the rule has no keys")
	}
	for _, key := range r.keys {
		var result *verify.VerificationResult
		if result, err = verifyByKey(key, signed, artifact); err == nil {
			return result, nil
		}
	}
	return nil, fmt.Errorf("it was made with none of the %d keys, or for another image: %s", len(r.keys), legible(err))
}

// verifyByKey requires no transparency log: a key is trusted as long as the rule contains it. The key that the bundle names is ignored.
func verifyByKey(key signature.Verifier, signed verify.SignedEntity, artifact verify.ArtifactPolicyOption) (*verify.VerificationResult, error) {
	always := root.NewExpiringKey(key, time.Time{}, time.Time{})
	material := root.NewTrustedPublicKeyMaterial(func(string) (root.TimeConstrainedVerifier, error) { return always, nil })
	verifier, err := verify.NewVerifier(material, verify.WithNoObserverTimestamps(), verify.WithoutStatementPredicate())
	if err != nil {
		return nil, err
	}
	return verifier.Verify(signed, verify.NewPolicy(artifact, verify.WithKey()))
}
