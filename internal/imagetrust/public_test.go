// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package imagetrust_test

import (
	"crypto/ed25519"
	"crypto/rand"
	"crypto/x509"
	"encoding/hex"
	"encoding/json"
	"encoding/pem"
	"strings"

	"github.com/google/go-containerregistry/pkg/name"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/sigstore/sigstore-go/pkg/testing/data"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/imagetrust"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/wire"
)

// The bundle is one that GitHub Actions made of an npm package, so that it names no SHA-256: it is refused for that, and by then all
// that others had to say of it - authority, log, time, log of certificates - has been found good.
var _ = DescribeTable("A bundle of sigstore's public instance is verified as far as what it is about", func(trustedRoot, refusal string) {
	rule := must(imagetrust.For(&wire.ImageVerification{
		TrustedRoot: must(data.TrustedRoot(theTest, trustedRoot).MarshalJSON()), TrustedRootRef: "sigstore",
		Rules: []wire.ImageVerificationRule{{Prefix: "r.test", Identities: []wire.ImageIdentity{{
			Issuer:  "https://token.actions.githubusercontent.com",
			Subject: "https://github.com/sigstore/sigstore-js/.github/workflows/release.yml@refs/heads/main",
		}}}},
	}, name.MustParseReference("r.test/os").Context()))
	Expect(rule.Problem).To(BeEmpty())
	content := must(data.Bundle(theTest, "sigstore.js@2.0.0-provenance.sigstore.json").MarshalJSON())
	Expect(rule.VerifyBundle(ours, content)).To(MatchError(ContainSubstring(refusal)))
},
	Entry("by its own root", "public-good.json", "artifact digest"),
	Entry("and not by another's", "scaffolding.json", "transparency log"),
)

// Ed25519 signs what it is given and not its digest, and the library hands it nothing where it has the digest alone.
var _ = It("A signature of a file, even of an empty one, is none of an image, whatever digest stands beside it", func() {
	public, private, err := ed25519.GenerateKey(rand.Reader)
	Expect(err).NotTo(HaveOccurred())
	encoded := pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: must(x509.MarshalPKIXPublicKey(public))})
	rule := must(imagetrust.For(&wire.ImageVerification{
		Rules: []wire.ImageVerificationRule{{Prefix: "r.test", PublicKeys: []string{string(encoded)}}},
	}, name.MustParseReference("r.test/os").Context()))
	content := must(json.Marshal(map[string]any{
		"mediaType":            imagetrust.BundleMediaType,
		"verificationMaterial": map[string]any{"publicKey": map[string]any{"hint": "x"}},
		"messageSignature": map[string]any{
			"messageDigest": map[string]any{"algorithm": "SHA2_256", "digest": must(hex.DecodeString(strings.TrimPrefix(ours, "sha256:")))},
			"signature":     ed25519.Sign(private, nil),
		},
	}))
	Expect(rule.VerifyBundle(ours, content)).To(MatchError(ContainSubstring("it signs a file")))
})
