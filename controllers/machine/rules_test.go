// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package machine_test

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/apiserver"
)

var _ = Describe("Whose signature the images of a host need", func() {
	rulesFor := func(prefix string) *infrav1.ImageVerification {
		return &infrav1.ImageVerification{
			Rules: []infrav1.ImageVerificationRule{{Prefix: prefix, PublicKeys: []string{"key"}}}, Unmatched: infrav1.UnmatchedImageRefuse,
		}
	}

	It("is the cluster's to say while that says anything, and the registration's before and afterwards", func(ctx SpecContext) {
		w := newWorld(ctx)
		registration := &infrav1.ElementalRegistration{ObjectMeta: metav1.ObjectMeta{Namespace: w.ns, Name: "rack"}}
		registration.Spec.ImageVerification = rulesFor("registration.test")
		Expect(server.Client.Create(ctx, registration)).To(Succeed())
		cluster := &infrav1.ElementalCluster{ObjectMeta: metav1.ObjectMeta{
			Namespace: w.ns, Name: "c1", Labels: map[string]string{clusterv1.ClusterNameLabel: "c1"},
		}}
		cluster.Spec.ImageVerification = rulesFor("cluster.test")
		Expect(server.Client.Create(ctx, cluster)).To(Succeed())
		host := w.host(ctx, "h1", func(h *infrav1.ElementalHost) {
			h.Annotations = map[string]string{infrav1.RegistrationNameAnnotation: registration.Name}
			h.Spec.ImageVerification = rulesFor("registration.test")
		})
		w.machine(ctx, "m1")
		Eventually(server.Stored(ctx, host)).Should(SatisfyAll(
			HaveField("Spec.MachineRef", Not(BeNil())), HaveField("Spec.ImageVerification", rulesFor("cluster.test")),
		))

		By("taking the cluster's off")
		apiserver.Change(ctx, server.Client, cluster, func() { cluster.Spec.ImageVerification = nil })
		Eventually(server.Stored(ctx, host)).Should(HaveField("Spec.ImageVerification", rulesFor("registration.test")))

		By("writing others")
		apiserver.Change(ctx, server.Client, cluster, func() { cluster.Spec.ImageVerification = rulesFor("other.test") })
		Eventually(server.Stored(ctx, host)).Should(HaveField("Spec.ImageVerification", rulesFor("other.test")))

		By("taking them off where the registration has none either")
		apiserver.Change(ctx, server.Client, registration, func() { registration.Spec.ImageVerification = nil })
		apiserver.Change(ctx, server.Client, cluster, func() { cluster.Spec.ImageVerification = nil })
		Eventually(server.Stored(ctx, host)).Should(HaveField("Spec.ImageVerification", BeNil()))
	})

	It("follows the registration alone for a host whose cluster says nothing", func(ctx SpecContext) {
		w := newWorld(ctx)
		registration := &infrav1.ElementalRegistration{ObjectMeta: metav1.ObjectMeta{Namespace: w.ns, Name: "rack"}}
		registration.Spec.ImageVerification = rulesFor("first.test")
		Expect(server.Client.Create(ctx, registration)).To(Succeed())
		Expect(server.Client.Create(ctx, &infrav1.ElementalCluster{ObjectMeta: metav1.ObjectMeta{
			Namespace: w.ns, Name: "c1", Labels: map[string]string{clusterv1.ClusterNameLabel: "c1"},
		}})).To(Succeed())
		host := w.host(ctx, "h1", func(h *infrav1.ElementalHost) {
			h.Annotations = map[string]string{infrav1.RegistrationNameAnnotation: registration.Name}
		})
		machine := w.machine(ctx, "m1")
		Eventually(server.Stored(ctx, host)).Should(SatisfyAll(
			HaveField("Spec.MachineRef", Not(BeNil())), HaveField("Spec.ImageVerification", rulesFor("first.test")),
		))
		rests(machine)

		apiserver.Change(ctx, server.Client, registration, func() { registration.Spec.ImageVerification = rulesFor("second.test") })
		Eventually(server.Stored(ctx, host)).Should(HaveField("Spec.ImageVerification", rulesFor("second.test")))
		rests(machine)

		By("renewing the token, which is no machine's business")
		before := reconcilesOf(machine)
		apiserver.ChangeStatus(ctx, server.Client, registration, func() { registration.Status.TokenExpirationTime = metav1.Now() })
		Consistently(func() int64 { return reconcilesOf(machine) }).Should(Equal(before))
	})
})
