// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package registration_test

import (
	"crypto/ed25519"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/controllers/registration"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/token"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/apiserver"
)

func makeRegistration(ctx SpecContext, changes ...func(*infrav1.ElementalRegistration)) *infrav1.ElementalRegistration {
	GinkgoHelper()
	object := &infrav1.ElementalRegistration{ObjectMeta: metav1.ObjectMeta{
		Namespace: server.NewNamespace(ctx), Name: "r1", Labels: map[string]string{clusterv1.WatchLabel: watchFilter},
	}}
	for _, change := range changes {
		change(object)
	}
	Expect(server.Client.Create(ctx, object)).To(Succeed())
	return object
}

func said(object *infrav1.ElementalRegistration) infrav1.Registration {
	return object.Spec.Config.Elemental.Registration
}

// tokenSecret is where the controller keeps the registration's token.
func tokenSecret(object *infrav1.ElementalRegistration) *corev1.Secret {
	return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: object.Namespace, Name: object.Name + "-token"}}
}

// tokenOf is the registration's token, and empty if it has none.
func tokenOf(ctx SpecContext, object *infrav1.ElementalRegistration) string {
	GinkgoHelper()
	secret := tokenSecret(object)
	Expect(client.IgnoreNotFound(server.Client.Get(ctx, client.ObjectKeyFromObject(secret), secret))).To(Succeed())
	return string(secret.Data["token"])
}

// ownURI is the one that the manager gives to a registration.
func ownURI(object *infrav1.ElementalRegistration) string {
	return "https://" + endpoint + "/elemental/v1/namespaces/" + object.Namespace + "/registrations/" + object.Name
}

// verify verifies the registration's token for a URI, with the key in a Secret.
func verify(ctx SpecContext, object *infrav1.ElementalRegistration, keyName, uri string) error {
	GinkgoHelper()
	secret := &corev1.Secret{}
	Expect(server.Client.Get(ctx, client.ObjectKey{Namespace: object.Namespace, Name: keyName}, secret)).To(Succeed())
	private, err := token.ParseSigningKey(secret.Data[token.SecretKey])
	Expect(err).NotTo(HaveOccurred())
	return token.VerifyRegistrationToken(tokenOf(ctx, object), private.Public().(ed25519.PublicKey), token.Audience{uri}, clock.Now())
}

// byHand makes a registration that the running manager leaves alone, and a copy of its reconciler that reads live.
func byHand(ctx SpecContext, changes ...func(*infrav1.ElementalRegistration)) (*infrav1.ElementalRegistration, *registration.Reconciler) {
	GinkgoHelper()
	object := makeRegistration(ctx, append(changes, func(r *infrav1.ElementalRegistration) { r.Labels = nil })...)
	own := *reconciler
	own.Client, own.APIReader = server.Client, server.Client
	return object, &own
}

// reconcile a registration once, and read it.
func reconcile(ctx SpecContext, by *registration.Reconciler, object *infrav1.ElementalRegistration) error {
	GinkgoHelper()
	_, err := by.Reconcile(ctx, ctrl.Request{NamespacedName: client.ObjectKeyFromObject(object)})
	apiserver.Get(ctx, server.Client, object)
	return err
}

var ready = apiserver.HaveCondition(clusterv1.ReadyCondition, metav1.ConditionTrue, clusterv1.ReadyReason)

// settle reconciles a registration until it is Ready and nothing is left to do.
func settle(ctx SpecContext, by *registration.Reconciler, object *infrav1.ElementalRegistration) {
	GinkgoHelper()
	for range 10 {
		before := object.ResourceVersion
		Expect(reconcile(ctx, by, object)).To(Succeed())
		if object.ResourceVersion == before {
			Expect(object).To(ready)
			return
		}
	}
	Fail("it writes again and again")
}

// notOwned is what a registration says whose token's Secret is somebody else's.
func notOwned(todo string) OmegaMatcher {
	return And(
		apiserver.HaveCondition(infrav1.RegistrationTokenReadyCondition, metav1.ConditionFalse, infrav1.TokenSecretNotOwnedReason),
		HaveField("Status.Conditions", ContainElement(HaveField("Message", And(ContainSubstring("Secret r1-token"), ContainSubstring(todo))))),
		HaveField("Status.TokenSecretName", BeEmpty()), HaveField("Status.TokenExpirationTime", BeZero()))
}
