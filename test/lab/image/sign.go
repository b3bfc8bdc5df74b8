// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package image

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"fmt"
	"strings"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/static"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// Signer signs images as "cosign sign --key" does. It does not use cosign's code, so that the code that
// verifies is not tested against itself. Source: cosign, specs/SIGNATURE_SPEC.md.
type Signer struct {
	// PublicKey is the content of cosign.pub.
	PublicKey string
	key       *ecdsa.PrivateKey
}

// NewSigner generates a key.
func NewSigner() (*Signer, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("making a key: %w", err)
	}
	encoded, err := x509.MarshalPKIXPublicKey(key.Public())
	if err != nil {
		return nil, fmt.Errorf("encoding a key: %w", err)
	}
	return &Signer{PublicKey: string(pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: encoded})), key: key}, nil
}

// Payload is what is signed for an image.
func Payload(digest string) []byte {
	return fmt.Appendf(nil, `{"critical":{"identity":{"docker-reference":"registry.test/os"},"image":{"docker-manifest-digest":%q},`+
		`"type":"cosign container image signature"},"optional":null}`, digest)
}

// Signature of a payload, in base64.
func (s *Signer) Signature(payload []byte) (string, error) {
	signed, err := signWith(s.key, payload)
	return base64.StdEncoding.EncodeToString(signed), err
}

const signatureAnnotation = "dev.cosignproject.cosign/signature"

// AppendSignature adds a signature to the image under the signature tag, empty.Image at first.
func AppendSignature(to v1.Image, payload []byte, signature string) (v1.Image, error) {
	return AppendAnnotated(to, payload, map[string]string{signatureAnnotation: signature})
}

// AppendAnnotated adds a signature with all its annotations; see Sigstore.Annotations.
func AppendAnnotated(to v1.Image, payload []byte, annotations map[string]string) (v1.Image, error) {
	return mutate.Append(mutate.MediaType(to, types.OCIManifestSchema1), mutate.Addendum{
		Layer:       static.NewLayer(payload, "application/vnd.dev.cosign.simplesigning.v1+json"),
		Annotations: annotations,
	})
}

// SignatureTag is the tag of the signatures of a digest.
func SignatureTag(digest string) string {
	return strings.Replace(digest, "sha256:", "sha256-", 1) + ".sig"
}

// Sign signs what the tag of an image refers to, but not the manifests of an index, which is cosign's
// default.
func (r *Registry) Sign(ctx context.Context, pushed Image, by *Signer) error {
	payload := Payload(pushed.Digest)
	signature, err := by.Signature(payload)
	if err != nil {
		return fmt.Errorf("signing %s: %w", pushed.Ref, err)
	}
	signatures, err := AppendSignature(empty.Image, payload, signature)
	if err != nil {
		return fmt.Errorf("signing %s: %w", pushed.Ref, err)
	}
	tag, err := name.NewTag(r.addr+"/"+pushed.Repository+":"+SignatureTag(pushed.Digest), name.Insecure)
	if err != nil {
		return fmt.Errorf("signing %s: %w", pushed.Ref, err)
	}
	return remote.Write(tag, signatures, remote.WithContext(ctx), remote.WithTransport(r.Transport()))
}
