// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package imagetrust_test

import (
	"encoding/base64"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/google/go-containerregistry/pkg/name"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/imagetrust"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/wire"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/image"
)

const (
	issuer  = "https://token.actions.githubusercontent.com"
	subject = "https://github.com/vendor/os/.github/workflows/release.yaml@refs/tags/v1.2.0"
)

var (
	ours   = "sha256:" + strings.Repeat("1", 64)
	others = "sha256:" + strings.Repeat("2", 64)
)

// keyless is a signature that is looked at, and by what.
type keyless struct {
	identity wire.ImageIdentity
	signer   image.Identity
	by, root *image.Sigstore
	digest   string
	// predicate of a bundle's statement.
	predicate string
	// change the policy, the annotations or the bundle.
	change            func(*wire.ImageVerification)
	changeAnnotations func(map[string]string)
	changeBundle      func(map[string]any)
}

func newSigstore() *image.Sigstore {
	GinkgoHelper()
	return must(image.NewSigstore())
}

// rule that the signature has to pass.
func (k keyless) rule() *imagetrust.Rule {
	GinkgoHelper()
	verification := &wire.ImageVerification{
		Rules:          []wire.ImageVerificationRule{{Prefix: "r.test", Identities: []wire.ImageIdentity{k.identity}}},
		TrustedRootRef: "sigstore", TrustedRoot: json.RawMessage(must(k.root.TrustedRoot())),
	}
	if k.change != nil {
		k.change(verification)
	}
	return must(imagetrust.For(verification, name.MustParseReference("r.test/os").Context()))
}

// atTag verifies a signature at the tag of an image.
func (k keyless) atTag() error {
	GinkgoHelper()
	payload := image.Payload(k.digest)
	annotations := must(k.by.Annotations(payload, k.signer))
	if k.changeAnnotations != nil {
		k.changeAnnotations(annotations)
	}
	return k.rule().Verify(ours, payload, annotations)
}

// inBundle verifies a bundle that refers to an image.
func (k keyless) inBundle() error {
	GinkgoHelper()
	content := must(k.by.Bundle(image.Statement(k.digest, k.predicate), k.signer))
	if k.changeBundle != nil {
		bundle := map[string]any{}
		Expect(json.Unmarshal(content, &bundle)).To(Succeed())
		k.changeBundle(bundle)
		content = must(json.Marshal(bundle))
	}
	return k.rule().VerifyBundle(ours, content)
}

// good is a signature that counts.
func good() keyless {
	GinkgoHelper()
	instance := newSigstore()
	return keyless{
		identity: wire.ImageIdentity{Issuer: issuer, Subject: subject},
		signer:   image.Identity{Issuer: issuer, Subject: subject, LoggedAfter: time.Minute},
		by:       instance, root: instance, digest: ours, predicate: image.SignPredicate,
	}
}

var _ = DescribeTable("A signature without a key, at a tag and in a bundle alike,", func(change func(*keyless), refusal string) {
	signed := good()
	change(&signed)
	for _, verify := range []func() error{signed.atTag, signed.inBundle} {
		if refusal == "" {
			Expect(verify()).To(Succeed())
			continue
		}
		Expect(verify()).To(MatchError(ContainSubstring(refusal)))
	}
},
	Entry("counts by an identity", func(*keyless) {}, ""),
	Entry("or one that the whole of an expression is about", func(k *keyless) {
		k.identity = wire.ImageIdentity{Issuer: issuer, SubjectRegExp: `https://github\.com/vendor/os/.*@refs/tags/v1\..*`}
	}, ""),
	Entry("by any of several", func(k *keyless) {
		k.change = func(v *wire.ImageVerification) {
			v.Rules[0].Identities = append([]wire.ImageIdentity{{Issuer: "https://other.test", Subject: "x"}}, v.Rules[0].Identities...)
		}
	}, ""),
	Entry("but not of another subject", func(k *keyless) { k.signer.Subject += "3" }, `@refs/tags/v1.2.03" of issuer "`+issuer+`", who is not among the rule's identities`),
	Entry("nor of another issuer", func(k *keyless) { k.signer.Issuer = "https://evil.test" }, `of issuer "https://evil.test", who is not among the rule's identities`),
	Entry("nor of a subject that an expression is about in part", func(k *keyless) {
		k.identity = wire.ImageIdentity{Issuer: issuer, SubjectRegExp: `https://github\.com/vendor/os`}
	}, "who is not among the rule's identities"),
	Entry("nor one that it is about at the end", func(k *keyless) {
		k.identity = wire.ImageIdentity{Issuer: issuer, SubjectRegExp: `x|github.com/vendor/os/.*`}
	}, "who is not among the rule's identities"),
	Entry("nor when it was logged after the certificate had expired", func(k *keyless) { k.signer.LoggedAfter = 11 * time.Minute }, "it cannot be verified: "),
	Entry("nor before it was issued", func(k *keyless) { k.signer.LoggedAfter = -time.Minute }, "it cannot be verified: "),
	Entry("nor of another authority and log", func(k *keyless) { k.by = newSigstore() }, "it cannot be verified: "),
	Entry("nor where the certificate is in none of the root's logs of certificates", func(k *keyless) {
		k.change = func(v *wire.ImageVerification) {
			root := map[string]any{}
			Expect(json.Unmarshal(v.TrustedRoot, &root)).To(Succeed())
			root["ctlogs"] = root["tlogs"]
			v.TrustedRoot = must(json.Marshal(root))
		}
	}, "failed to verify signed certificate timestamp"),
	Entry("nor where the rule has keys alone", func(k *keyless) {
		k.change = func(v *wire.ImageVerification) {
			v.Rules[0].Identities, v.Rules[0].PublicKeys = nil, []string{must(image.NewSigner()).PublicKey}
		}
	}, "it was made without a key (keyless), but the rule has no identities"),
	Entry("nor while there is no root", func(k *keyless) {
		k.change = func(v *wire.ImageVerification) { v.TrustedRoot = nil }
	}, "set trustedRootRef"),
	Entry("and it is said why there is none", func(k *keyless) {
		k.change = func(v *wire.ImageVerification) {
			v.TrustedRoot, v.TrustedRootError = nil, "there is no ConfigMap"
		}
	}, "there is no ConfigMap"),
	Entry("nor while the root is none", func(k *keyless) {
		k.change = func(v *wire.ImageVerification) { v.TrustedRoot = json.RawMessage(`{"mediaType":"x"}`) }
	}, "ConfigMap sigstore contains no Sigstore trusted root"),
)

var _ = DescribeTable("A signature at a tag does not count", func(change func(*keyless), refusal string) {
	signed := good()
	change(&signed)
	Expect(signed.atTag()).To(MatchError(ContainSubstring(refusal)))
},
	Entry("of another image", func(k *keyless) { k.digest = others }, "it is a signature of "+others),
	Entry("that is in no log", func(k *keyless) {
		k.changeAnnotations = func(a map[string]string) { delete(a, imagetrust.LogEntryAnnotation) }
	}, "it is not in a transparency log"),
	Entry("with an entry that is none", func(k *keyless) {
		k.changeAnnotations = func(a map[string]string) { a[imagetrust.LogEntryAnnotation] = "{}" }
	}, "is not an entry of a transparency log"),
	Entry("with the entry of another one", func(k *keyless) {
		k.changeAnnotations = func(a map[string]string) {
			a[imagetrust.LogEntryAnnotation] = must(k.by.Annotations(image.Payload(ours), k.signer))[imagetrust.LogEntryAnnotation]
		}
	}, "transparency log signature does not match"),
	Entry("with a certificate that is none", func(k *keyless) {
		k.changeAnnotations = func(a map[string]string) { a[imagetrust.CertificateAnnotation] = "?" }
	}, "is not a PEM-encoded certificate"),
)

var _ = DescribeTable("A bundle does not count", func(change func(*keyless), refusal string) {
	signed := good()
	change(&signed)
	Expect(signed.inBundle()).To(MatchError(ContainSubstring(refusal)))
},
	Entry("of another image", func(k *keyless) { k.digest = others }, "digest does not match any digest in statement"),
	Entry("that states something else of the image than that it is signed", func(k *keyless) {
		k.predicate = "https://spdx.dev/Document"
	}, `it is an attestation of type "https://spdx.dev/Document", not a signature`),
	Entry("that is in no log", func(k *keyless) {
		k.changeBundle = func(b map[string]any) { delete(b["verificationMaterial"].(map[string]any), "tlogEntries") }
	}, "not enough verified log entries"),
	Entry("with the entry of another one", func(k *keyless) {
		k.changeBundle = func(b map[string]any) {
			other := map[string]any{}
			Expect(json.Unmarshal(must(k.by.Bundle(image.Statement(ours, k.predicate), k.signer)), &other)).To(Succeed())
			b["verificationMaterial"].(map[string]any)["tlogEntries"] = other["verificationMaterial"].(map[string]any)["tlogEntries"]
		}
	}, "transparency log signature does not match"),
	Entry("with another statement than the one that was signed", func(k *keyless) {
		k.digest = others
		k.changeBundle = func(b map[string]any) {
			b["dsseEnvelope"].(map[string]any)["payload"] = base64.StdEncoding.EncodeToString(image.Statement(ours, k.predicate))
		}
	}, "does not match envelope payload hash"),
	Entry("with more timestamps than anybody asks for", func(k *keyless) {
		k.changeBundle = func(b map[string]any) { stamp(b, 5, 6<<10) }
	}, "it has 5 timestamps, more than 4"),
	Entry("with a timestamp that is larger than those of authorities", func(k *keyless) {
		k.changeBundle = func(b map[string]any) { stamp(b, 1, 16<<10+1) }
	}, "it has a timestamp of 16385 bytes, more than 16384"),
	Entry("that is none", func(k *keyless) {
		k.changeBundle = func(b map[string]any) { clear(b) }
	}, "it is not a Sigstore bundle"),
)

// stamp gives a bundle timestamps, of so many bytes each.
func stamp(bundle map[string]any, many, size int) {
	stamps := slices.Repeat([]any{map[string]any{"signedTimestamp": make([]byte, size)}}, many)
	bundle["verificationMaterial"].(map[string]any)["timestampVerificationData"] = map[string]any{"rfc3161Timestamps": stamps}
}

var _ = Describe("A bundle that was made with a key", func() {
	rule := func(keys ...string) *imagetrust.Rule {
		GinkgoHelper()
		return must(imagetrust.For(&wire.ImageVerification{Rules: []wire.ImageVerificationRule{{Prefix: "r.test", PublicKeys: keys}}},
			name.MustParseReference("r.test/os").Context()))
	}
	var vendor, stranger *image.Signer
	BeforeEach(func() { vendor, stranger = must(image.NewSigner()), must(image.NewSigner()) })

	It("counts by one of the keys, without any log", func() {
		bundle := must(vendor.Bundle(image.Statement(ours, image.SignPredicate)))
		Expect(rule(stranger.PublicKey, vendor.PublicKey).VerifyBundle(ours, bundle)).To(Succeed())
		Expect(rule(stranger.PublicKey).VerifyBundle(ours, bundle)).To(MatchError(ContainSubstring("it was made with none of the 1 keys")))
		Expect(rule(vendor.PublicKey).VerifyBundle(others, bundle)).To(MatchError(ContainSubstring("digest does not match")))
	})

	It("does not count where the rule has identities alone", func() {
		signed := good()
		Expect(signed.rule().VerifyBundle(ours, must(vendor.Bundle(image.Statement(ours, signed.predicate))))).
			To(MatchError("it was made with a key, but the rule has no keys"))
	})

	It("counts while identities beside the keys cannot be verified", func() {
		signed := good()
		signed.change = func(v *wire.ImageVerification) {
			v.TrustedRoot, v.TrustedRootError, v.Rules[0].PublicKeys = nil, "there is no ConfigMap", []string{vendor.PublicKey}
		}
		Expect(signed.rule().VerifyBundle(ours, must(vendor.Bundle(image.Statement(ours, signed.predicate))))).To(Succeed())
		Expect(signed.rule().Problem).To(Equal("there is no ConfigMap"))
	})
})

var _ = DescribeTable("An identity that would be anybody's is none", func(identity wire.ImageIdentity, refusal string) {
	_, err := imagetrust.For(&wire.ImageVerification{Rules: []wire.ImageVerificationRule{{Prefix: "r.test", Identities: []wire.ImageIdentity{identity}}}},
		name.MustParseReference("r.test/os").Context())
	Expect(err).To(MatchError(And(HavePrefix("imageVerification.rules[0].identities[0]: "), ContainSubstring(refusal))))
},
	Entry("without an issuer", wire.ImageIdentity{Subject: "x"}, "it needs an issuer"),
	Entry("without a subject", wire.ImageIdentity{Issuer: issuer}, "either subject or subjectRegExp"),
	Entry("with two", wire.ImageIdentity{Issuer: issuer, Subject: "x", SubjectRegExp: ".*"}, "either subject or subjectRegExp"),
	Entry("with an expression that is none", wire.ImageIdentity{Issuer: issuer, SubjectRegExp: "("}, "it has to be a Go regular expression"),
	Entry("with an expression that would leave its group", wire.ImageIdentity{Issuer: issuer, SubjectRegExp: "a)|(b"}, "it has to be a Go regular expression"),
)
