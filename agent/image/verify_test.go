// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package image_test

import (
	"context"
	"net/http"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/agent/image"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/wire"
	labimage "github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/image"
)

// signed is a payload with a signature.
type signed struct {
	payload   []byte
	signature string
}

func sign(by *labimage.Signer, payload []byte) signed {
	GinkgoHelper()
	signature, err := by.Signature(payload)
	Expect(err).NotTo(HaveOccurred())
	return signed{payload, signature}
}

// attach puts signatures where those of a digest are looked for.
func (h *hub) attach(digest string, signatures ...signed) {
	GinkgoHelper()
	stored := empty.Image
	for _, each := range signatures {
		var err error
		stored, err = labimage.AppendSignature(stored, each.payload, each.signature)
		Expect(err).NotTo(HaveOccurred())
	}
	Expect(remote.Write(h.reference(labimage.SignatureTag(digest)), stored, remote.WithTransport(h.server.Client().Transport))).To(Succeed())
}

func newSigner() *labimage.Signer {
	GinkgoHelper()
	signer, err := labimage.NewSigner()
	Expect(err).NotTo(HaveOccurred())
	return signer
}

var _ = Describe("The signature of an image", func() {
	var (
		h                *hub
		store            *image.Store
		vendor, stranger *labimage.Signer
		wanted           image.Image
	)
	ctx := context.Background()

	BeforeEach(func() {
		h = newHub()
		store = image.NewStore(image.Options{Directory: GinkgoT().TempDir(), Transport: h.server.Client().Transport, Architecture: "amd64"})
		vendor, stranger = newSigner(), newSigner()
		h.push("v2", "amd64")
		var err error
		wanted, err = store.Resolve(ctx, "oci://"+h.host()+"/os:v2", "")
		Expect(err).NotTo(HaveOccurred())
	})

	rules := func(keys ...string) *wire.ImageVerification {
		return &wire.ImageVerification{Rules: []wire.ImageVerificationRule{{Prefix: h.host() + "/os", PublicKeys: keys}}}
	}
	verify := func(by *wire.ImageVerification) error { return store.Verify(ctx, wanted, by) }
	refused := func(err error, why string) {
		GinkgoHelper()
		Expect(err).To(BeAssignableToTypeOf(&image.Terminal{}))
		Expect(err).To(MatchError(And(HavePrefix("image oci://"+h.host()+"/os:v2"), ContainSubstring(why))))
	}

	It("counts when it is by one of the keys, whoever has signed the image besides", func() {
		payload := labimage.Payload(wanted.Digest)
		h.attach(wanted.Digest, sign(stranger, payload), sign(vendor, payload))
		Expect(verify(rules(newSigner().PublicKey, vendor.PublicKey))).To(Succeed())
	})

	DescribeTable("does not count",
		func(attach func(), why string) {
			attach()
			refused(verify(rules(vendor.PublicKey)), why)
		},
		Entry("when there is none", func() {}, "it is not signed: there is no 127.0.0.1:"),
		Entry("by another key", func() { h.attach(wanted.Digest, sign(stranger, labimage.Payload(wanted.Digest))) }, "it was made with none of the 1 keys"),
		Entry("of another image", func() {
			h.attach(wanted.Digest, sign(vendor, labimage.Payload("sha256:"+strings.Repeat("1", 64))))
		}, "it is a signature of sha256:1111"),
		Entry("of another payload than the one beside it", func() {
			other := sign(vendor, labimage.Payload("sha256:"+strings.Repeat("1", 64)))
			h.attach(wanted.Digest, signed{labimage.Payload(wanted.Digest), other.signature})
		}, "it was made with none of the 1 keys"),
		Entry("of something else than an image", func() {
			h.attach(wanted.Digest, sign(vendor, []byte(`{"critical":{"type":"atomic container signature","image":{"docker-manifest-digest":"`+wanted.Digest+`"}}}`)))
		}, `is of type "atomic container signature"`),
		Entry("that is none", func() { h.attach(wanted.Digest, signed{labimage.Payload(wanted.Digest), "?"}) }, "is not base64"),
		Entry("when something else lies there", func() {
			Expect(remote.Write(h.reference(labimage.SignatureTag(wanted.Digest)), h.build("amd64"), remote.WithTransport(h.server.Client().Transport))).To(Succeed())
		}, "it is of type \"application/vnd.docker.image.rootfs.diff.tar.gzip\""),
		Entry("when nothing lies there", func() {
			Expect(remote.Write(h.reference(labimage.SignatureTag(wanted.Digest)), empty.Image, remote.WithTransport(h.server.Client().Transport))).To(Succeed())
		}, "holds 0 signatures, from 1 to 50 are supported"),
	)

	It("of the index that the tag names counts for the image in it, pinned or not", func() {
		ours := h.build("amd64")
		index := mutate.AppendManifests(empty.Index,
			mutate.IndexAddendum{Add: ours, Descriptor: v1.Descriptor{Platform: &v1.Platform{OS: "linux", Architecture: "amd64"}}})
		Expect(remote.WriteIndex(h.reference("v2"), index, remote.WithTransport(h.server.Client().Transport))).To(Succeed())
		whole, err := index.Digest()
		Expect(err).NotTo(HaveOccurred())
		h.attach(whole.String(), sign(vendor, labimage.Payload(whole.String())))
		former := wanted
		wanted, err = store.Resolve(ctx, "oci://"+h.host()+"/os:v2", digestOf(ours))
		Expect(err).NotTo(HaveOccurred())
		Expect(verify(rules(vendor.PublicKey))).To(Succeed())

		By("but not for an image that is not in it")
		wanted = former
		refused(verify(rules(vendor.PublicKey)), "it is not signed")
	})

	It("is asked for by the rule with the longest prefix alone", func() {
		h.attach(wanted.Digest, sign(vendor, labimage.Payload(wanted.Digest)))
		both := func(whole, part string) *wire.ImageVerification {
			return &wire.ImageVerification{Rules: []wire.ImageVerificationRule{
				{Prefix: h.host() + "/os", PublicKeys: []string{part}}, {Prefix: h.host(), PublicKeys: []string{whole}},
			}}
		}
		Expect(verify(both(stranger.PublicKey, vendor.PublicKey))).To(Succeed())
		refused(verify(both(vendor.PublicKey, stranger.PublicKey)), "for prefix "+h.host()+"/os of imageVerification")
	})

	It("is not asked for where nothing is said, and images that no rule is about are refused unless they are accepted", func() {
		Expect(verify(nil)).To(Succeed())
		elsewhere := &wire.ImageVerification{Rules: []wire.ImageVerificationRule{{Prefix: h.host() + "/o", PublicKeys: []string{vendor.PublicKey}}}}
		refused(verify(elsewhere), "no rule of imageVerification matches "+h.host()+"/os")
		elsewhere.Unmatched = wire.UnmatchedAccept
		Expect(verify(elsewhere)).To(Succeed())
	})

	It("is not taken for missing while the registry cannot say", func() {
		h.disturb = func(w http.ResponseWriter, _ *http.Request) bool {
			w.WriteHeader(http.StatusServiceUnavailable)
			return true
		}
		Expect(verify(rules(vendor.PublicKey))).To(BeAssignableToTypeOf(&image.Unreachable{}))
	})

	It("cannot be checked by a key that is none", func() {
		refused(verify(rules("ssh-ed25519 AAAA")), "imageVerification.rules[0].publicKeys[0]: it has to be a PEM-encoded public key")
	})
})
