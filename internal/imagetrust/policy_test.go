// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package imagetrust_test

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"fmt"
	"strings"

	"github.com/google/go-containerregistry/pkg/name"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/imagetrust"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/wire"
)

var _ = DescribeTable("A rule is about", func(prefix, repository string, is bool) {
	parsed, err := name.NewRepository(repository)
	Expect(err).NotTo(HaveOccurred())
	rule, err := imagetrust.For(&wire.ImageVerification{Unmatched: wire.UnmatchedAccept, Rules: []wire.ImageVerificationRule{{Prefix: prefix}}}, parsed)
	Expect(err).NotTo(HaveOccurred())
	Expect(rule != nil).To(Equal(is))
},
	Entry("all of a registry", "registry.test", "registry.test/a/b", true),
	Entry("but not of one with another port", "registry.test", "registry.test:5000/os", false),
	Entry("or a longer name", "registry.test", "registry.test.evil/os", false),
	Entry("a repository", "registry.test/os", "registry.test/os", true),
	Entry("what is beneath it", "registry.test/os", "registry.test/os/base", true),
	Entry("but not what only begins like it", "registry.test/os", "registry.test/oss", false),
	Entry("images of Docker Hub", "docker.io", "vendor/os", true),
)

var _ = DescribeTable("A key may be of any kind that cosign takes", func(make func() crypto.Signer) {
	const digest = "sha256:0000000000000000000000000000000000000000000000000000000000000000"
	key := make()
	encoded, err := x509.MarshalPKIXPublicKey(key.Public())
	Expect(err).NotTo(HaveOccurred())
	rule, err := imagetrust.For(&wire.ImageVerification{Rules: []wire.ImageVerificationRule{{
		Prefix: "r.test", PublicKeys: []string{string(pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: encoded}))},
	}}}, name.MustParseReference("r.test/os").Context())
	Expect(err).NotTo(HaveOccurred())

	payload := fmt.Appendf(nil, `{"critical":{"image":{"docker-manifest-digest":%q},"type":"cosign container image signature"}}`, digest)
	sum, hashed := sha256.Sum256(payload), crypto.SHA256
	message := sum[:]
	if _, pure := key.(ed25519.PrivateKey); pure {
		message, hashed = payload, 0
	}
	signature, err := key.Sign(rand.Reader, message, hashed)
	Expect(err).NotTo(HaveOccurred())
	annotations := map[string]string{imagetrust.SignatureAnnotation: base64.StdEncoding.EncodeToString(signature)}
	Expect(rule.Verify(digest, payload, annotations)).To(Succeed())
	Expect(rule.Verify(strings.Replace(digest, "0", "1", 1), payload, annotations)).To(MatchError("it is a signature of " + digest))
	Expect(rule.Verify(digest, payload, nil)).To(MatchError(ContainSubstring("it has no annotation")))
},
	Entry("ECDSA, cosign's own", func() crypto.Signer { return must(ecdsa.GenerateKey(elliptic.P256(), rand.Reader)) }),
	Entry("RSA", func() crypto.Signer { return must(rsa.GenerateKey(rand.Reader, 2048)) }),
	Entry("Ed25519", func() crypto.Signer {
		_, key, err := ed25519.GenerateKey(rand.Reader)
		return must(key, err)
	}),
)

func must[T any](value T, err error) T {
	GinkgoHelper()
	Expect(err).NotTo(HaveOccurred())
	return value
}
