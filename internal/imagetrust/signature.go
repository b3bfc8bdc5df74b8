// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package imagetrust

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/sigstore/sigstore/pkg/signature/payload"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/imageuri"
)

// Where a signature has its parts. One that was made with a certificate has more: see certified.go.
// Source: cosign, specs/SIGNATURE_SPEC.md.
const (
	// MediaType of the layer that holds what was signed.
	MediaType = "application/vnd.dev.cosign.simplesigning.v1+json"
	// SignatureAnnotation of the layer is the signature, in base64.
	SignatureAnnotation = "dev.cosignproject.cosign/signature"
)

// Tag under which the signatures of a digest lie, in the repository of the image.
func Tag(digest string) string { return strings.Replace(digest, ":", "-", 1) + ".sig" }

// Verify reports whether the signature of a payload is by one of the rule's keys or identities and the payload is about the image
// with this digest. The signature comes first: what it does not cover says nothing. The text of an error is for operators.
func (r *Rule) Verify(digest string, signed []byte, annotations map[string]string) error {
	if err := r.verifySignature(signed, annotations); err != nil {
		return err
	}
	about := payload.SimpleContainerImage{}
	if err := json.Unmarshal(signed, &about); err != nil {
		return errors.New("what was signed is not a payload of cosign")
	}
	if about.Critical.Type != payload.CosignSignatureType {
		return fmt.Errorf("what was signed is of type %.60q, not %q", about.Critical.Type, payload.CosignSignatureType)
	}
	if got := about.Critical.Image.DockerManifestDigest; got != digest {
		if !imageuri.IsDigest(got) {
			got = "no image"
		}
		return fmt.Errorf("it is a signature of %s", got)
	}
	return nil
}

func (r *Rule) verifySignature(signed []byte, annotations map[string]string) error {
	encoded, found := annotations[SignatureAnnotation]
	if !found {
		return errors.New("it has no annotation " + SignatureAnnotation)
	}
	decoded, err := base64.StdEncoding.DecodeString(encoded)
	if err != nil {
		return errors.New("its annotation " + SignatureAnnotation + " is not base64")
	}
	for _, key := range r.keys {
		if key.VerifySignature(bytes.NewReader(decoded), bytes.NewReader(signed)) == nil {
			return nil
		}
	}
	if annotations[CertificateAnnotation] != "" {
		return r.identities.verifyCertified(decoded, signed, annotations)
	}
	if len(r.keys) == 0 {
		return errors.New("it was made with a key, and the rule has none")
	}
	return fmt.Errorf("it was made with none of the %d keys", len(r.keys))
}
