// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package image_test

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"time"

	"github.com/google/go-containerregistry/pkg/registry"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/agent/image"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/wire"
	labimage "github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/image"
)

var releaser = labimage.Identity{Issuer: "https://issuer.test", Subject: "https://ci.test/release", LoggedAfter: time.Minute}

func must[T any](value T, err error) T {
	GinkgoHelper()
	Expect(err).NotTo(HaveOccurred())
	return value
}

// refer pushes bundles that refer to what a tag names.
func (h *hub) refer(tag string, bundles ...[]byte) {
	GinkgoHelper()
	transport := remote.WithTransport(h.server.Client().Transport)
	subject := must(remote.Head(h.reference(tag), transport))
	for _, content := range bundles {
		artifact := must(labimage.BundleArtifact(content, *subject))
		Expect(remote.Write(h.reference(tag).Context().Digest(digestOf(artifact)), artifact, transport)).To(Succeed())
	}
}

var _ = Describe("The signature of an image by an identity", func() {
	var (
		h        *hub
		store    *image.Store
		instance *labimage.Sigstore
		wanted   image.Image
	)
	ctx := context.Background()

	start := func(options ...registry.Option) {
		GinkgoHelper()
		h = newHub(options...)
		store = image.NewStore(image.Options{Directory: GinkgoT().TempDir(), Transport: h.server.Client().Transport, Architecture: "amd64"})
		instance = must(labimage.NewSigstore())
		h.push("v2", "amd64")
		wanted = must(store.Resolve(ctx, "oci://"+h.host()+"/os:v2", ""))
	}
	rules := func() *wire.ImageVerification {
		GinkgoHelper()
		return &wire.ImageVerification{
			Rules: []wire.ImageVerificationRule{{
				Prefix: h.host() + "/os", Identities: []wire.ImageIdentity{{Issuer: releaser.Issuer, Subject: releaser.Subject}},
			}},
			TrustedRootRef: "sigstore", TrustedRoot: json.RawMessage(must(instance.TrustedRoot())),
		}
	}
	verify := func() error { return store.Verify(ctx, wanted, rules()) }
	refused := func(err error, whys ...string) {
		GinkgoHelper()
		Expect(err).To(BeAssignableToTypeOf(&image.Terminal{}))
		for _, why := range whys {
			Expect(err).To(MatchError(ContainSubstring(why)))
		}
	}
	statement := func() []byte { return labimage.Statement(wanted.Digest, labimage.SignPredicate) }

	It("counts at the tag of its signatures", func() {
		start()
		payload := labimage.Payload(wanted.Digest)
		signatures := must(labimage.AppendAnnotated(empty.Image, payload, must(instance.Annotations(payload, releaser))))
		Expect(remote.Write(h.reference(labimage.SignatureTag(wanted.Digest)), signatures, remote.WithTransport(h.server.Client().Transport))).To(Succeed())
		Expect(verify()).To(Succeed())
	})

	DescribeTable("counts as a bundle that refers to the image, whoever has signed it besides",
		func(options ...registry.Option) {
			start(options...)
			refused(verify(), "it is not signed: there is no "+h.host()+"/os:sha256-", "and no bundle of sigstore refers to "+wanted.Digest)
			stranger := releaser
			stranger.Subject = "https://ci.test/pull-request"
			h.refer("v2", must(instance.Bundle(statement(), stranger)))
			refused(verify(), `"https://ci.test/pull-request" of issuer "https://issuer.test", who is not among the rule's identities`)
			h.refer("v2", must(instance.Bundle(statement(), releaser)))
			Expect(verify()).To(Succeed())
		},
		Entry("where the registry lists what refers to it", registry.WithReferrersSupport(true)),
		Entry("where a tag does"),
	)

	It("counts as a bundle that was made with a key", func() {
		start()
		vendor := newSigner()
		h.refer("v2", must(vendor.Bundle(statement())))
		by := &wire.ImageVerification{Rules: []wire.ImageVerificationRule{{Prefix: h.host(), PublicKeys: []string{vendor.PublicKey}}}}
		Expect(store.Verify(ctx, wanted, by)).To(Succeed())
	})

	It("does not count for another image, whatever a bundle refers to", func() {
		start()
		h.refer("v2", must(instance.Bundle(labimage.Statement("sha256:"+strings.Repeat("1", 64), labimage.SignPredicate), releaser)))
		refused(verify(), "digest does not match any digest in statement")
	})

	It("does not count while there is no trusted root, which comes first of the reasons", func() {
		start()
		h.refer("v2", must(instance.Bundle(statement(), releaser)))
		by := rules()
		by.TrustedRoot, by.TrustedRootError = nil, "there is no ConfigMap sigstore"
		refused(store.Verify(ctx, wanted, by), "of imageVerification: no identity can be verified: there is no ConfigMap sigstore; ")
	})

	It("is not looked for in bundles that are too large, or too many", func() {
		start()
		h.refer("v2", make([]byte, 65<<10))
		refused(verify(), "has 66560 bytes, not application/vnd.dev.sigstore.bundle.v0.3+json and at most 65536")
		for i := range 50 {
			h.refer("v2", make([]byte, i+1))
		}
		refused(verify(), "51 bundles refer to "+wanted.Digest+", at most 50 are verified")
	})

	It("is refused where the registry does not say what refers to an image, and waited for while it cannot", func() {
		start()
		status := http.StatusForbidden
		h.disturb = func(w http.ResponseWriter, r *http.Request) bool {
			if strings.Contains(r.URL.Path, "/referrers/") {
				w.WriteHeader(status)
				return true
			}
			return false
		}
		refused(verify(), "does not say which bundles refer to "+wanted.Digest+" (HTTP 403)")
		status = http.StatusServiceUnavailable
		Expect(verify()).To(BeAssignableToTypeOf(&image.Unreachable{}))
	})
})
