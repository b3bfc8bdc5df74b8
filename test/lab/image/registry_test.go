// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package image_test

import (
	"net/http"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/v1/remote"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/double/source"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/image"
)

var _ = Describe("The registry", Ordered, func() {
	var registry *image.Registry

	BeforeAll(func() {
		var err error
		registry, err = image.Start(image.Options{})
		Expect(err).NotTo(HaveOccurred())
		DeferCleanup(registry.Close)
	})

	It("is trusted by its own CA only", func() {
		_, err := (&http.Client{}).Get("https://" + registry.Host() + "/v2/")
		Expect(err).To(MatchError(ContainSubstring("certificate")))
		answer, err := (&http.Client{Transport: registry.Transport()}).Get("https://" + registry.Host() + "/v2/")
		Expect(err).NotTo(HaveOccurred())
		Expect(answer.Body.Close()).To(Succeed())
		Expect(answer.StatusCode).To(Equal(http.StatusOK))
	})

	It("serves images whose labels say how they behave", func() {
		img, err := registry.Push(GinkgoT().Context(), "elemental/os", "v2", image.OS{
			Version: "v2", KubeletVersion: "v1.36.3", Boot: source.BootUnhealthy,
			UpgradeSeconds: 1.5, UpgradeKilled: true, Labels: map[string]string{"a": "b"},
		})
		Expect(err).NotTo(HaveOccurred())
		ref, err := name.ParseReference(img.Ref)
		Expect(err).NotTo(HaveOccurred())
		pulled, err := remote.Image(ref, remote.WithTransport(registry.Transport()))
		Expect(err).NotTo(HaveOccurred())
		Expect(pulled.Digest()).To(HaveField("String()", img.Digest))
		cfg, err := pulled.ConfigFile()
		Expect(err).NotTo(HaveOccurred())
		Expect(cfg.Config.Labels).To(Equal(map[string]string{
			source.LabelVersion: "v2", source.LabelKubelet: "v1.36.3", source.LabelBoot: "unhealthy",
			source.LabelUpgradeSeconds: "1.5", source.LabelUpgradeKilled: "once", "a": "b",
		}))
	})

	It("builds a different image each time, and logs who asked for it", func() {
		one, err := registry.Push(GinkgoT().Context(), "elemental/os", "a", image.OS{Version: "same"})
		Expect(err).NotTo(HaveOccurred())
		two, err := registry.Push(GinkgoT().Context(), "elemental/os", "b", image.OS{Version: "same"})
		Expect(err).NotTo(HaveOccurred())
		Expect(one.Digest).NotTo(Equal(two.Digest))
		asked := len(registry.Asked(two))

		ref, err := name.ParseReference(registry.Host() + "/elemental/os@" + one.Digest)
		Expect(err).NotTo(HaveOccurred())
		_, err = remote.Image(ref, remote.WithTransport(registry.Transport()), remote.WithUserAgent("host-1"))
		Expect(err).NotTo(HaveOccurred())
		Expect(registry.Asked(one)).To(ContainElement(HaveField("UserAgent", HavePrefix("host-1"))))
		Expect(registry.Asked(two)).To(HaveLen(asked))
	})

	It("can delay the content of images, but not their manifests", func() {
		held, err := registry.Push(GinkgoT().Context(), "elemental/os", "held", image.OS{})
		Expect(err).NotTo(HaveOccurred())
		release := registry.Hold()
		DeferCleanup(release)
		ref, err := name.ParseReference(held.Ref)
		Expect(err).NotTo(HaveOccurred())
		pulled, err := remote.Image(ref, remote.WithTransport(registry.Transport()))
		Expect(err).NotTo(HaveOccurred())
		came := make(chan error, 1)
		go func() {
			_, err := pulled.RawConfigFile()
			came <- err
		}()
		Consistently(came, "200ms").ShouldNot(Receive())
		release()
		Eventually(came).Should(Receive(BeNil()))
	})
})
