// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package hostupgrade_test

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/imageuri"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/image"
)

var _ = Describe("An attempt for an image that an identity has to have signed", func() {
	It("asks nothing of its host before there is a trusted root to verify by", func(ctx SpecContext) {
		w := newWorld(ctx, infrav1.NodeUpgradeOption{})
		cluster := get(ctx, w, clusterName, &infrav1.ElementalCluster{})
		reference, err := imageuri.Parse(get(ctx, w, w.upgrade, &infrav1.ElementalHostUpgrade{}).Spec.ImageURI)
		Expect(err).NotTo(HaveOccurred())
		cluster.Spec.ImageVerification = &infrav1.ImageVerification{
			TrustedRootRef: &infrav1.TrustedRootReference{Name: "sigstore"},
			Rules: []infrav1.ImageVerificationRule{{
				Prefix: reference.Context().RegistryStr(), Identities: []infrav1.ImageIdentity{{Issuer: "https://issuer.test", Subject: "release"}},
			}},
		}
		Expect(live.Update(ctx, cluster)).To(Succeed())
		waits := func(why string) {
			GinkgoHelper()
			w.rest(ctx)
			Expect(get(ctx, w, w.upgrade, &infrav1.ElementalHostUpgrade{}).Status).To(And(
				HaveField("Phase", infrav1.UpgradeProgressing), HaveField("Position()", "Preflight (1/14)"), HaveField("Message", ContainSubstring(why))))
			Expect(get(ctx, w, w.host, &infrav1.ElementalHost{}).Spec.Upgrade).To(BeNil())
		}
		waits("there is no ConfigMap " + w.namespace + "/sigstore")

		root := &corev1.ConfigMap{ObjectMeta: w.meta("sigstore"), Data: map[string]string{infrav1.TrustedRootKey: "{}"}}
		Expect(live.Create(ctx, root)).To(Succeed())
		waits("ConfigMap sigstore contains no Sigstore trusted root")

		instance, err := image.NewSigstore()
		Expect(err).NotTo(HaveOccurred())
		root.Data[infrav1.TrustedRootKey], err = instance.TrustedRoot()
		Expect(err).NotTo(HaveOccurred())
		Expect(live.Update(ctx, root)).To(Succeed())
		w.drive(ctx, nil)
		Expect(w.marks(ctx)).To(Equal(clean))
	})
})
