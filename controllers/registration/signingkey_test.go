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

var _ = Describe("The signing key of an ElementalRegistration", func() {
	It("uses a key that it is given, and says so when that is missing or no key", func(ctx SpecContext) {
		object := makeRegistration(ctx, func(r *infrav1.ElementalRegistration) {
			r.Spec.PrivateKeyRef = &infrav1.SecretReference{Name: "mine"}
		})
		failed := apiserver.HaveCondition(infrav1.RegistrationTokenReadyCondition, metav1.ConditionFalse, infrav1.SigningKeyFailedReason)
		Eventually(server.Stored(ctx, object)).Should(SatisfyAll(failed, HaveField("Status.Conditions", ContainElement(HaveField("Message", ContainSubstring("Secret mine"))))))

		secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: object.Namespace, Name: "mine"}}
		Expect(server.Client.Create(ctx, secret)).To(Succeed())
		Eventually(server.Stored(ctx, object)).Should(SatisfyAll(failed, HaveField("Status.Conditions", ContainElement(HaveField("Message", ContainSubstring(token.SecretKey))))))

		key, err := token.NewSigningKey()
		Expect(err).NotTo(HaveOccurred())
		secret.Data = map[string][]byte{token.SecretKey: key}
		Expect(server.Client.Update(ctx, secret)).To(Succeed())
		Eventually(server.Stored(ctx, object)).Should(ready)
		Expect(verify(ctx, object, "mine", ownURI(object))).To(Succeed())
	})

	It("looks again soon for a key that is missing, however long it has been", func(ctx SpecContext) {
		object := makeRegistration(ctx, func(r *infrav1.ElementalRegistration) {
			r.Spec.PrivateKeyRef = &infrav1.SecretReference{Name: "mine"}
		})
		Eventually(server.Stored(ctx, object)).Should(apiserver.HaveCondition(infrav1.RegistrationTokenReadyCondition, metav1.ConditionFalse, infrav1.SigningKeyFailedReason))
		Eventually(func(g Gomega) { // the manager's own reconciler may write in between
			result, err := reconciler.Reconcile(ctx, ctrl.Request{NamespacedName: client.ObjectKeyFromObject(object)})
			g.Expect(err).NotTo(HaveOccurred(), "an error would be tried again ever more rarely")
			g.Expect(result.RequeueAfter).To(And(BeNumerically(">", 0), BeNumerically("<=", time.Minute)))
		}).Should(Succeed())
	})

	It("takes no key of a former one of its name, which goes with that, and makes its own then", func(ctx SpecContext) {
		key, err := token.NewSigningKey()
		Expect(err).NotTo(HaveOccurred())
		formers := &corev1.Secret{Data: map[string][]byte{token.SecretKey: key}}
		object := makeRegistration(ctx, func(r *infrav1.ElementalRegistration) {
			formers.Namespace, formers.Name = r.Namespace, r.Name
			former := &infrav1.ElementalRegistration{ObjectMeta: metav1.ObjectMeta{Name: r.Name, UID: "of-the-former-one"}}
			formers.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(former, infrav1.GroupVersion.WithKind("ElementalRegistration"))}
			Expect(server.Client.Create(ctx, formers)).To(Succeed())
		})
		Eventually(server.Stored(ctx, object)).Should(apiserver.HaveCondition(infrav1.RegistrationTokenReadyCondition, metav1.ConditionFalse, infrav1.SigningKeyFailedReason))
		Expect(server.Client.Delete(ctx, formers)).To(Succeed()) // as Kubernetes does
		Eventually(server.Stored(ctx, object)).Should(ready)
		Expect(verify(ctx, object, "r1", ownURI(object))).To(Succeed())
	})

	It("makes a token of another key within a minute, which is put in place of its own: clusterctl move does that", func(ctx SpecContext) {
		object := makeRegistration(ctx)
		Eventually(server.Stored(ctx, object)).Should(ready)
		key, err := token.NewSigningKey()
		Expect(err).NotTo(HaveOccurred())
		secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: object.Namespace, Name: "r1"}}
		apiserver.Get(ctx, server.Client, secret)
		secret.Data[token.SecretKey] = key
		Expect(server.Client.Update(ctx, secret)).To(Succeed())
		request := ctrl.Request{NamespacedName: client.ObjectKeyFromObject(object)}
		Eventually(func(g Gomega) { // once it is Ready again, and the cache has seen that
			result, err := reconciler.Reconcile(ctx, request)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(result.RequeueAfter).To(And(BeNumerically(">", 0), BeNumerically("<=", time.Minute)))
		}).Should(Succeed())
		Eventually(func(g Gomega) {
			g.Expect(server.Stored(ctx, object)()).To(ready)
			g.Expect(verify(ctx, object, "r1", ownURI(object))).To(Succeed())
		}).Should(Succeed())
	})
})
