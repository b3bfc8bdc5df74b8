// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package registration_test

import (
	"context"
	"errors"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/apiserver"
)

var _ = Describe("A manager that is stopped between its writes", func() {
	It("goes on with the token that it has written, and has removed nothing before status says where it is", func(ctx SpecContext) {
		object, own := byHand(ctx, stored(ownURI))
		Expect(reconcile(ctx, own, object)).To(Succeed())
		Expect(object).To(apiserver.HaveCondition(clusterv1.PausedCondition, metav1.ConditionFalse, clusterv1.NotPausedReason))
		before := said(object)

		stopped, another := errors.New("stopped"), *own
		another.Client = interceptor.NewClient(server.Client, interceptor.Funcs{
			SubResourcePatch: func(context.Context, client.Client, string, client.Object, client.Patch, ...client.SubResourcePatchOption) error {
				return stopped
			},
		})
		Expect(reconcile(ctx, &another, object)).To(MatchError(stopped))
		written := tokenOf(ctx, object)
		Expect(verify(ctx, object, "r1", ownURI(object))).To(Succeed())
		Expect(object.Status.TokenSecretName).To(BeEmpty())
		Expect(said(object)).To(Equal(before))

		Expect(reconcile(ctx, own, object)).To(Succeed())
		Expect(object.Status).To(And(HaveField("URI", ownURI(object)), HaveField("TokenSecretName", "r1-token")))
		Expect(said(object)).To(Equal(before), "the cache may not have the status yet")

		settle(ctx, own, object)
		Expect(said(object)).To(HaveField("Token", BeEmpty()))
		Expect(tokenOf(ctx, object)).To(Equal(written))
	})

	It("overwrites no address that an operator sets while it removes its own", func(ctx SpecContext) {
		object, own := byHand(ctx, stored(ownURI))
		late := *own
		late.Client = interceptor.NewClient(server.Client, interceptor.Funcs{
			Patch: func(ctx context.Context, inner client.WithWatch, changed client.Object, patch client.Patch, options ...client.PatchOption) error {
				if _, ours := changed.(*infrav1.ElementalRegistration); ours {
					operator := object.DeepCopy()
					Expect(inner.Get(ctx, client.ObjectKeyFromObject(object), operator)).To(Succeed())
					operator.Spec.Config.Elemental.Registration.URI = balanced
					Expect(inner.Update(ctx, operator)).To(Succeed())
				}
				return inner.Patch(ctx, changed, patch, options...)
			},
		})
		Eventually(func() error { return reconcile(ctx, &late, object) }).Should(MatchError(ContainSubstring("the object has been modified")))
		settle(ctx, own, object)
		Expect(said(object)).To(And(HaveField("URI", balanced), HaveField("Token", BeEmpty())))
		Expect(object.Status.URI).To(Equal(balanced))
	})
})
