// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package registration_test

import (
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/apiserver"
)

const balanced = "https://balancer.example.com/edge"

// stored is what version 0.7 has put into spec: its own URI where there was none, and a token.
func stored(uri func(*infrav1.ElementalRegistration) string) func(*infrav1.ElementalRegistration) {
	return func(r *infrav1.ElementalRegistration) {
		r.Spec.Config.Elemental.Registration = infrav1.Registration{URI: uri(r), CACert: "stored", Token: "stored"}
		lasting(10 * time.Hour)(r)
	}
}

func balancer(*infrav1.ElementalRegistration) string { return balanced }
func unset(*infrav1.ElementalRegistration) string    { return "" }

var _ = Describe("The address of an ElementalRegistration", func() {
	It("is an operator's where spec has one, for as long as it has", func(ctx SpecContext) {
		object, own := byHand(ctx)
		settle(ctx, own, object)

		apiserver.Change(ctx, server.Client, object, func() { object.Spec.Config.Elemental.Registration.URI = balanced })
		settle(ctx, own, object)
		Expect(object.Status).To(And(HaveField("URI", balanced), HaveField("CACert", "pem")))
		Expect(verify(ctx, object, "r1", balanced)).To(Succeed(), "hosts present it there")

		apiserver.Change(ctx, server.Client, object, func() { object.Spec.Config.Elemental.Registration.CACert = "balancer's" })
		settle(ctx, own, object)
		Expect(object.Status).To(And(HaveField("URI", balanced), HaveField("CACert", "balancer's")))
		Expect(said(object)).To(Equal(infrav1.Registration{URI: balanced, CACert: "balancer's"}))

		apiserver.Change(ctx, server.Client, object, func() { object.Spec.Config.Elemental.Registration = infrav1.Registration{} })
		settle(ctx, own, object)
		Expect(object.Status).To(And(HaveField("URI", ownURI(object)), HaveField("CACert", "pem")))
		Expect(verify(ctx, object, "r1", ownURI(object))).To(Succeed())
	})

	DescribeTable("is left in spec, where version 0.7 stored it with a token, only if it is an operator's",
		func(ctx SpecContext, uri func(*infrav1.ElementalRegistration) string, left infrav1.Registration, inEffect func(*infrav1.ElementalRegistration) string, caCert string) {
			object, own := byHand(ctx, stored(uri))
			settle(ctx, own, object)
			left.TokenDuration = object.Spec.Config.Elemental.Registration.TokenDuration
			Expect(left.TokenDuration).NotTo(BeNil())
			Expect(said(object)).To(Equal(left))
			Expect(object.Status).To(And(HaveField("URI", inEffect(object)), HaveField("CACert", caCert)))
			Expect(verify(ctx, object, "r1", inEffect(object))).To(Succeed())
			Expect(tokenOf(ctx, object)).NotTo(Equal("stored"))

			By("writing a token again")
			apiserver.Change(ctx, server.Client, object, func() { object.Spec.Config.Elemental.Registration.Token = "written" })
			kept := tokenOf(ctx, object)
			settle(ctx, own, object)
			Expect(said(object)).To(Equal(left))
			Expect(tokenOf(ctx, object)).To(Equal(kept))
		},
		Entry("the manager's", ownURI, infrav1.Registration{}, ownURI, "pem"),
		Entry("an operator's", balancer, infrav1.Registration{URI: balanced, CACert: "stored"}, balancer, "stored"),
		Entry("none", unset, infrav1.Registration{CACert: "stored"}, ownURI, "stored"),
	)

	It("stays in spec if it is the manager's and there is no token: an operator has set it since", func(ctx SpecContext) {
		object, own := byHand(ctx)
		settle(ctx, own, object)
		set := infrav1.Registration{URI: ownURI(object), CACert: "another"}
		apiserver.Change(ctx, server.Client, object, func() { object.Spec.Config.Elemental.Registration = set })
		settle(ctx, own, object)
		Expect(said(object)).To(Equal(set))
		Expect(object.Status).To(And(HaveField("URI", ownURI(object)), HaveField("CACert", "another")))
	})
})
