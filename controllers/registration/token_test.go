// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package registration_test

import (
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/token"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/apiserver"
)

func lasting(duration time.Duration) func(*infrav1.ElementalRegistration) {
	return func(r *infrav1.ElementalRegistration) {
		r.Spec.Config.Elemental.Registration.TokenDuration = &metav1.Duration{Duration: duration}
	}
}

var _ = Describe("The token of an ElementalRegistration", func() {
	It("is renewed at half of its life, in the same Secret, and not before", func(ctx SpecContext) {
		object, own := byHand(ctx, lasting(10*time.Hour))
		settle(ctx, own, object)
		first, secret := tokenOf(ctx, object), tokenSecret(object)
		apiserver.Change(ctx, server.Client, secret, func() { secret.Labels["of"], secret.Data["beside"] = "an-operator", []byte("it") })

		result, err := own.Reconcile(ctx, ctrl.Request{NamespacedName: client.ObjectKeyFromObject(object)})
		Expect(err).NotTo(HaveOccurred())
		Expect(result.RequeueAfter).To(BeNumerically("~", time.Minute, time.Second), "a Secret may be another by then")
		Expect(tokenOf(ctx, object)).To(Equal(first))

		clock.SetTime(clock.Now().Add(5*time.Hour + time.Second))
		settle(ctx, own, object)
		Expect(tokenOf(ctx, object)).NotTo(Equal(first))
		Expect(verify(ctx, object, "r1", ownURI(object))).To(Succeed())
		Expect(token.ExpiresAt(tokenOf(ctx, object))).To(And(
			BeTemporally("~", clock.Now().Add(10*time.Hour), time.Minute), BeTemporally("==", object.Status.TokenExpirationTime.Time)))
		renewed := tokenSecret(object)
		Expect(server.Stored(ctx, renewed)()).To(And(HaveField("UID", secret.UID), HaveField("Labels", HaveKeyWithValue("of", "an-operator")),
			HaveField("Data", HaveKeyWithValue("beside", []byte("it")))))
	})

	DescribeTable("is replaced when it is no good",
		func(ctx SpecContext, spoil func(ctx SpecContext, object *infrav1.ElementalRegistration)) {
			object := makeRegistration(ctx)
			Eventually(server.Stored(ctx, object)).Should(ready)
			first := tokenOf(ctx, object)
			clock.SetTime(clock.Now().Add(time.Second)) // so that another token differs
			spoil(ctx, object)
			apiserver.Change(ctx, server.Client, object, func() { object.Labels["touched"] = "true" })
			Eventually(func(g Gomega) {
				g.Expect(tokenOf(ctx, object)).NotTo(Equal(first))
				g.Expect(verify(ctx, object, "r1", ownURI(object))).To(Succeed())
				g.Expect(server.Stored(ctx, object)()).To(ready)
				g.Expect(token.ExpiresAt(tokenOf(ctx, object))).To(BeTemporally("==", object.Status.TokenExpirationTime.Time))
			}).Should(Succeed())
		},
		Entry("overwritten", func(ctx SpecContext, object *infrav1.ElementalRegistration) {
			secret := tokenSecret(object)
			apiserver.Change(ctx, server.Client, secret, func() { secret.Data = map[string][]byte{"token": []byte("rubbish")} })
		}),
		Entry("removed from its Secret", func(ctx SpecContext, object *infrav1.ElementalRegistration) {
			secret := tokenSecret(object)
			apiserver.Change(ctx, server.Client, secret, func() { secret.Data = nil })
		}),
		Entry("deleted with its Secret", func(ctx SpecContext, object *infrav1.ElementalRegistration) {
			Expect(server.Client.Delete(ctx, tokenSecret(object))).To(Succeed())
		}),
		Entry("of another key", func(ctx SpecContext, object *infrav1.ElementalRegistration) {
			Expect(server.Client.Delete(ctx, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: object.Namespace, Name: "r1"}})).To(Succeed())
		}),
		Entry("longer-lived than asked for", func(ctx SpecContext, object *infrav1.ElementalRegistration) {
			apiserver.Change(ctx, server.Client, object, func() { lasting(time.Hour)(object) })
		}),
	)

	DescribeTable("does not go into a Secret that is somebody else's, which is left alone until it is deleted",
		func(ctx SpecContext, change func(secret *corev1.Secret, owner metav1.OwnerReference), todo string) {
			object, own := byHand(ctx)
			settle(ctx, own, object)
			Expect(server.Client.Delete(ctx, tokenSecret(object))).To(Succeed())
			foreign := tokenSecret(object)
			foreign.Type, foreign.Data = infrav1.RegistrationTokenSecretType, map[string][]byte{"token": []byte("theirs")}
			change(foreign, *metav1.NewControllerRef(object, infrav1.GroupVersion.WithKind("ElementalRegistration")))
			Expect(server.Client.Create(ctx, foreign)).To(Succeed())

			Expect(reconcile(ctx, own, object)).To(Succeed())
			Expect(object).To(And(notOwned(todo), Not(ready)))
			Expect(server.Stored(ctx, tokenSecret(object))()).To(And(HaveField("ResourceVersion", foreign.ResourceVersion), HaveField("Type", foreign.Type)))

			result, err := own.Reconcile(ctx, ctrl.Request{NamespacedName: client.ObjectKeyFromObject(object)})
			Expect(err).NotTo(HaveOccurred(), "an error would be tried again ever more rarely")
			Expect(result.RequeueAfter).To(And(BeNumerically(">", 0), BeNumerically("<=", time.Minute)))
			Expect(server.Client.Delete(ctx, foreign)).To(Succeed())
			settle(ctx, own, object)
			Expect(verify(ctx, object, "r1", ownURI(object))).To(Succeed())
		},
		Entry("by its type", func(secret *corev1.Secret, owner metav1.OwnerReference) {
			secret.Type, secret.OwnerReferences = corev1.SecretTypeOpaque, []metav1.OwnerReference{owner}
		}, "its type is Opaque instead of infrastructure.cluster.x-k8s.io/registration-token: move what it holds to a Secret of another name, and delete it"),
		Entry("without an owner", func(*corev1.Secret, metav1.OwnerReference) {}, "delete it to have a new one made"),
		Entry("by its owner", func(secret *corev1.Secret, owner metav1.OwnerReference) {
			owner.Kind, owner.Name, owner.UID = "ElementalHost", "m-1", "of-a-host"
			secret.OwnerReferences = []metav1.OwnerReference{owner}
		}, "delete it to have a new one made"),
		Entry("owned, not controlled", func(secret *corev1.Secret, owner metav1.OwnerReference) {
			owner.Controller = nil
			secret.OwnerReferences = []metav1.OwnerReference{owner}
		}, "delete it to have a new one made"),
		Entry("of a former registration of the name", func(secret *corev1.Secret, owner metav1.OwnerReference) {
			owner.UID = "of-the-former-one"
			secret.OwnerReferences = []metav1.OwnerReference{owner}
		}, "Waiting for Secret r1-token to go with the deleted ElementalRegistration"),
	)

	It("is not taken for the key of a registration of its Secret's name", func(ctx SpecContext) {
		object, own := byHand(ctx)
		settle(ctx, own, object)
		namesake := &infrav1.ElementalRegistration{ObjectMeta: metav1.ObjectMeta{Namespace: object.Namespace, Name: "r1-token"}}
		Expect(server.Client.Create(ctx, namesake)).To(Succeed())
		Expect(reconcile(ctx, own, namesake)).To(Succeed())
		Expect(reconcile(ctx, own, namesake)).To(Succeed())
		Expect(namesake).To(And(
			apiserver.HaveCondition(infrav1.RegistrationTokenReadyCondition, metav1.ConditionFalse, infrav1.SigningKeyFailedReason),
			HaveField("Status.Conditions", ContainElement(HaveField("Message", ContainSubstring("recreate this one under another name"))))))
		Expect(verify(ctx, object, "r1", ownURI(object))).To(Succeed())
	})
})
