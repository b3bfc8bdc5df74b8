// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package host_test

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/apiserver"
)

// Each spec changes only the registration: no event of the host helps.
var _ = Describe("Whose signature the images of a host need", func() {
	rulesFor := func(prefix string) *infrav1.ImageVerification {
		return &infrav1.ImageVerification{
			Rules: []infrav1.ImageVerificationRule{{Prefix: prefix, PublicKeys: []string{"key"}}}, Unmatched: infrav1.UnmatchedImageRefuse,
		}
	}
	cameThrough := func(h *infrav1.ElementalHost) {
		h.Annotations = map[string]string{infrav1.RegistrationNameAnnotation: "rack"}
		h.Spec.ImageVerification = rulesFor("first.test")
	}
	register := func(ctx SpecContext, host *infrav1.ElementalHost) *infrav1.ElementalRegistration {
		registration := &infrav1.ElementalRegistration{ObjectMeta: metav1.ObjectMeta{Namespace: host.Namespace, Name: "rack"}}
		registration.Spec.ImageVerification = rulesFor("first.test")
		Expect(server.Client.Create(ctx, registration)).To(Succeed())
		Eventually(settled(host)).WithPolling(apiserver.Settling).Should(BeTrue())
		return registration
	}

	It("follows its registration while it serves no machine", func(ctx SpecContext) {
		host := makeHost(ctx, cameThrough)
		registration := register(ctx, host)
		Expect(server.Stored(ctx, host)()).To(HaveField("Spec.ImageVerification", rulesFor("first.test")))

		apiserver.Change(ctx, server.Client, registration, func() { registration.Spec.ImageVerification = rulesFor("second.test") })
		Eventually(server.Stored(ctx, host)).Should(HaveField("Spec.ImageVerification", rulesFor("second.test")))

		By("taking them off")
		apiserver.Change(ctx, server.Client, registration, func() { registration.Spec.ImageVerification = nil })
		Eventually(server.Stored(ctx, host)).Should(HaveField("Spec.ImageVerification", BeNil()))

		By("deleting the registration that has some")
		apiserver.Change(ctx, server.Client, registration, func() { registration.Spec.ImageVerification = rulesFor("third.test") })
		Eventually(server.Stored(ctx, host)).Should(HaveField("Spec.ImageVerification", rulesFor("third.test")))
		Expect(server.Client.Delete(ctx, registration)).To(Succeed())
		Consistently(server.Stored(ctx, host)).Should(HaveField("Spec.ImageVerification", rulesFor("third.test")))
	})

	It("is its machine's to say while it serves one", func(ctx SpecContext) {
		host := makeHost(ctx, cameThrough, func(h *infrav1.ElementalHost) { h.Spec.MachineRef = &infrav1.LocalReference{Name: "m1"} })
		registration := register(ctx, host)
		apiserver.Change(ctx, server.Client, registration, func() { registration.Spec.ImageVerification = rulesFor("second.test") })
		Consistently(server.Stored(ctx, host)).Should(HaveField("Spec.ImageVerification", rulesFor("first.test")))
	})
})
