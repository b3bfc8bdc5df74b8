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

// Parts of a signature. One that was made with a certificate has more: see certified.go.
// Source: cosign, specs/SIGNATURE_SPEC.md.
const (
	// MediaType of the layer with the signed payload.
	MediaType = "application/vnd.dev.cosign.simplesigning.v1+json"
	// SignatureAnnotation of the layer is the signature, in base64.
	SignatureAnnotation = "dev.cosignproject.cosign/signature"
)

// Tag returns the tag with the signatures of a digest, in the repository of the image.
func Tag(digest string) string { return strings.Replace(digest, ":", "-", 1) + ".sig" }

// Verify reports whether a payload is signed by one of the rule's keys or identities and is about the image with this digest. The signature
// is verified first: an unsigned payload proves nothing. The text of an error is for operators.
func (r *Rule) Verify(digest string, signed []byte, annotations map[string]string) error {
	if err := r.verifySignature(signed, annotations); err != nil {
		return err
	}
	about := payload.SimpleContainerImage{}
	if err := json.Unmarshal(signed, &about); err != nil {
		return errors.New("the signed payload is not in cosign's format")
	}
	if about.Critical.Type != payload.CosignSignatureType {
		return fmt.Errorf("the signed payload is of type %.60q, not %q", about.Critical.Type, payload.CosignSignatureType)
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
		return errors.New("it was made with a key, but the rule has no keys")
	}
	return fmt.Errorf("it was made with none of the %d keys", len(r.keys))
}
