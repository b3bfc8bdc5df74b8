// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package registration_test

import (
	"crypto/ed25519"
	"errors"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/conditions"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/token"
)

func makeRegistration(ctx SpecContext, changes ...func(*infrav1.ElementalRegistration)) *infrav1.ElementalRegistration {
	GinkgoHelper()
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "registration-"}}
	Expect(server.Client.Create(ctx, namespace)).To(Succeed())
	object := &infrav1.ElementalRegistration{ObjectMeta: metav1.ObjectMeta{
		Namespace: namespace.Name, Name: "r1", Labels: map[string]string{clusterv1.WatchLabel: watchFilter},
	}}
	for _, change := range changes {
		change(object)
	}
	Expect(server.Client.Create(ctx, object)).To(Succeed())
	return object
}

func get[T client.Object](ctx SpecContext, object T) func() (T, error) {
	return func() (T, error) { return object, server.Client.Get(ctx, client.ObjectKeyFromObject(object), object) }
}

// touch makes an event.
func touch(ctx SpecContext, object *infrav1.ElementalRegistration, change func()) {
	GinkgoHelper()
	Eventually(func() error {
		if err := server.Client.Get(ctx, client.ObjectKeyFromObject(object), object); err != nil {
			return err
		}
		change()
		return server.Client.Update(ctx, object)
	}).WithContext(ctx).Should(Succeed())
}

func said(object *infrav1.ElementalRegistration) infrav1.Registration {
	return object.Spec.Config.Elemental.Registration
}

func haveCondition(conditionType string, status metav1.ConditionStatus, reason string) OmegaMatcher {
	return WithTransform(func(object conditions.Getter) string {
		condition := conditions.Get(object, conditionType)
		if condition == nil {
			return "none"
		}
		return string(condition.Status) + "/" + condition.Reason
	}, Equal(string(status)+"/"+reason))
}

// verify verifies the registration's token with the key in its Secret.
func verify(ctx SpecContext, object *infrav1.ElementalRegistration, secretName string, now time.Time) error {
	GinkgoHelper()
	secret := &corev1.Secret{}
	Expect(server.Client.Get(ctx, client.ObjectKey{Namespace: object.Namespace, Name: secretName}, secret)).To(Succeed())
	private, err := token.ParseSigningKey(secret.Data[token.SecretKey])
	Expect(err).NotTo(HaveOccurred())
	uri := "https://" + endpoint + "/elemental/v1/namespaces/" + object.Namespace + "/registrations/r1"
	return token.VerifyRegistrationToken(said(object).Token, private.Public().(ed25519.PublicKey), token.Audience{uri}, now)
}

var ready = haveCondition(clusterv1.ReadyCondition, metav1.ConditionTrue, clusterv1.ReadyReason)

var _ = Describe("An ElementalRegistration", func() {
	It("is told of SMBIOS data that its templates name and nobody knows", func(ctx SpecContext) {
		object := makeRegistration(ctx, func(r *infrav1.ElementalRegistration) {
			r.Spec.HostLabels = map[string]string{"serial": "${System Information/Serial}"}
		})
		Eventually(get(ctx, object)).Should(SatisfyAll(
			haveCondition(infrav1.HostTemplatesValidCondition, metav1.ConditionFalse, infrav1.UnknownSMBIOSFieldReason),
			haveCondition(infrav1.RegistrationTokenReadyCondition, metav1.ConditionTrue, clusterv1.ReadyReason),
		))
		touch(ctx, object, func() { object.Spec.HostLabels["serial"] = "${System Information/Serial Number}" })
		Eventually(get(ctx, object)).Should(ready)
	})

	It("gets a key, an address and a token that hosts can register with", func(ctx SpecContext) {
		object := makeRegistration(ctx)
		Eventually(get(ctx, object)).Should(ready)
		Expect(said(object).URI).To(Equal("https://" + endpoint + "/elemental/v1/namespaces/" + object.Namespace + "/registrations/r1"))
		Expect(said(object).CACert).To(Equal("pem"))
		Expect(verify(ctx, object, "r1", clock.Now())).To(Succeed())
		Expect(token.ExpiresAt(said(object).Token)).To(BeTemporally("~", clock.Now().Add(8760*time.Hour), time.Second))

		secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: object.Namespace, Name: "r1"}}
		Expect(get(ctx, secret)()).To(SatisfyAll(
			HaveField("Type", infrav1.RegistrationKeySecretType),
			HaveField("Labels", HaveKey("clusterctl.cluster.x-k8s.io/move")),
			HaveField("OwnerReferences", ConsistOf(HaveField("UID", object.UID))),
		))
	})

	It("renews the token at half of its life, and not before", func(ctx SpecContext) {
		object := makeRegistration(ctx, func(r *infrav1.ElementalRegistration) {
			r.Spec.Config.Elemental.Registration.TokenDuration = &metav1.Duration{Duration: 10 * time.Hour}
		})
		Eventually(get(ctx, object)).Should(ready)
		first := said(object).Token
		request := ctrl.Request{NamespacedName: client.ObjectKeyFromObject(object)}

		Eventually(func(g Gomega) {
			result, err := reconciler.Reconcile(ctx, request)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(result.RequeueAfter).To(BeNumerically("~", time.Minute, time.Second), "its key may be another by then")
		}).Should(Succeed())
		Expect(get(ctx, object)()).To(WithTransform(said, HaveField("Token", first)))

		clock.SetTime(clock.Now().Add(5*time.Hour + time.Second))
		Eventually(func() error { // the manager's own reconciler may write in between
			_, err := reconciler.Reconcile(ctx, request)
			return err
		}).Should(Succeed())
		Eventually(get(ctx, object)).Should(ready)
		Expect(get(ctx, object)()).To(WithTransform(said, HaveField("Token", Not(Equal(first)))))
		Expect(token.ExpiresAt(said(object).Token)).To(BeTemporally("~", clock.Now().Add(10*time.Hour), time.Minute))
	})

	DescribeTable("replaces a token that is no good",
		func(ctx SpecContext, spoil func(ctx SpecContext, object *infrav1.ElementalRegistration)) {
			object := makeRegistration(ctx)
			Eventually(get(ctx, object)).Should(ready)
			first := said(object).Token
			spoil(ctx, object)
			Eventually(func(g Gomega) {
				g.Expect(get(ctx, object)()).To(WithTransform(said, HaveField("Token", Not(BeElementOf("", first, "rubbish")))))
				g.Expect(verify(ctx, object, "r1", clock.Now())).To(Succeed())
			}).Should(Succeed())
		},
		Entry("overwritten", func(ctx SpecContext, object *infrav1.ElementalRegistration) {
			// A second later, so that the new token differs from the first.
			clock.SetTime(clock.Now().Add(time.Second))
			touch(ctx, object, func() { object.Spec.Config.Elemental.Registration.Token = "rubbish" })
		}),
		Entry("of another key", func(ctx SpecContext, object *infrav1.ElementalRegistration) {
			Expect(server.Client.Delete(ctx, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: object.Namespace, Name: "r1"}})).To(Succeed())
			touch(ctx, object, func() { object.Labels["touched"] = "true" })
		}),
		Entry("longer-lived than asked for", func(ctx SpecContext, object *infrav1.ElementalRegistration) {
			touch(ctx, object, func() {
				object.Spec.Config.Elemental.Registration.TokenDuration = &metav1.Duration{Duration: time.Hour}
			})
		}),
	)

	It("uses a key that it is given, and says so when that is missing or no key", func(ctx SpecContext) {
		object := makeRegistration(ctx, func(r *infrav1.ElementalRegistration) {
			r.Spec.PrivateKeyRef = &corev1.ObjectReference{Name: "mine"}
		})
		failed := haveCondition(infrav1.RegistrationTokenReadyCondition, metav1.ConditionFalse, infrav1.SigningKeyFailedReason)
		Eventually(get(ctx, object)).Should(SatisfyAll(failed, HaveField("Status.Conditions", ContainElement(HaveField("Message", ContainSubstring("Secret mine"))))))

		secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: object.Namespace, Name: "mine"}}
		Expect(server.Client.Create(ctx, secret)).To(Succeed())
		Eventually(get(ctx, object)).Should(SatisfyAll(failed, HaveField("Status.Conditions", ContainElement(HaveField("Message", ContainSubstring(token.SecretKey))))))

		key, err := token.NewSigningKey()
		Expect(err).NotTo(HaveOccurred())
		secret.Data = map[string][]byte{token.SecretKey: key}
		Expect(server.Client.Update(ctx, secret)).To(Succeed())
		Eventually(get(ctx, object)).Should(ready)
		Expect(verify(ctx, object, "mine", clock.Now())).To(Succeed())
	})

	It("looks again soon for a key that is missing, however long it has been", func(ctx SpecContext) {
		object := makeRegistration(ctx, func(r *infrav1.ElementalRegistration) {
			r.Spec.PrivateKeyRef = &corev1.ObjectReference{Name: "mine"}
		})
		Eventually(get(ctx, object)).Should(haveCondition(infrav1.RegistrationTokenReadyCondition, metav1.ConditionFalse, infrav1.SigningKeyFailedReason))
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
		Eventually(get(ctx, object)).Should(haveCondition(infrav1.RegistrationTokenReadyCondition, metav1.ConditionFalse, infrav1.SigningKeyFailedReason))
		Expect(server.Client.Delete(ctx, formers)).To(Succeed()) // as Kubernetes does
		Eventually(get(ctx, object)).Should(ready)
		Expect(verify(ctx, object, "r1", clock.Now())).To(Succeed())
	})

	It("makes a token of another key within a minute, which is put in place of its own: clusterctl move does that", func(ctx SpecContext) {
		object := makeRegistration(ctx)
		Eventually(get(ctx, object)).Should(ready)
		key, err := token.NewSigningKey()
		Expect(err).NotTo(HaveOccurred())
		secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: object.Namespace, Name: "r1"}}
		Expect(get(ctx, secret)()).NotTo(BeNil())
		secret.Data[token.SecretKey] = key
		Expect(server.Client.Update(ctx, secret)).To(Succeed())
		request := ctrl.Request{NamespacedName: client.ObjectKeyFromObject(object)}
		Eventually(func(g Gomega) { // once it is Ready again, and the cache has seen that
			result, err := reconciler.Reconcile(ctx, request)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(result.RequeueAfter).To(And(BeNumerically(">", 0), BeNumerically("<=", time.Minute)))
		}).Should(Succeed())
		Eventually(func(g Gomega) {
			g.Expect(get(ctx, object)()).To(ready)
			g.Expect(verify(ctx, object, "r1", clock.Now())).To(Succeed())
		}).Should(Succeed())
	})

	It("hands out the authorities of the API as they are by now, and keeps those that it has while they cannot be read", func(ctx SpecContext) {
		object := makeRegistration(ctx, func(r *infrav1.ElementalRegistration) { r.Labels = nil }) // not the running manager's
		own := *reconciler
		own.Client = server.Client
		reconcile := func() error {
			_, err := own.Reconcile(ctx, ctrl.Request{NamespacedName: client.ObjectKeyFromObject(object)})
			return err
		}
		Eventually(func(g Gomega) {
			g.Expect(reconcile()).To(Succeed())
			g.Expect(get(ctx, object)()).To(ready)
		}).Should(Succeed())
		own.CACert = func() (string, error) { return "of before and after", nil }
		Expect(reconcile()).To(Succeed())
		Expect(get(ctx, object)()).To(HaveField("Spec.Config.Elemental.Registration.CACert", "of before and after"))
		own.CACert = func() (string, error) { return "", errors.New("no file") }
		Expect(reconcile()).To(MatchError(ContainSubstring("no file")))
		Expect(get(ctx, object)()).To(HaveField("Spec.Config.Elemental.Registration.CACert", "of before and after"))
	})

	It("says that the manager has no endpoint", func(ctx SpecContext) {
		object := makeRegistration(ctx, func(r *infrav1.ElementalRegistration) { r.Labels = nil }) // not the running manager's
		own := *reconciler
		own.Client = server.Client
		reconciled := func(g Gomega) *infrav1.ElementalRegistration {
			_, err := own.Reconcile(ctx, ctrl.Request{NamespacedName: client.ObjectKeyFromObject(object)})
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(get(ctx, object)()).NotTo(BeNil())
			return object
		}
		Eventually(reconciled).Should(ready)
		own.Endpoint = ""
		Expect(reconciled(NewGomega(Fail))).To(haveCondition(infrav1.RegistrationTokenReadyCondition, metav1.ConditionFalse, infrav1.MissingAPIEndpointReason))
	})

	It("does nothing while it is paused", func(ctx SpecContext) {
		object := makeRegistration(ctx, func(r *infrav1.ElementalRegistration) {
			r.Annotations = map[string]string{clusterv1.PausedAnnotation: ""}
		})
		Eventually(get(ctx, object)).Should(haveCondition(clusterv1.PausedCondition, metav1.ConditionTrue, clusterv1.PausedReason))
		Consistently(get(ctx, object)).Should(WithTransform(said, HaveField("Token", "")))
		touch(ctx, object, func() { object.Annotations = nil })
		Eventually(get(ctx, object)).Should(ready)
	})

	DescribeTable("has a tokenDuration within bounds",
		func(ctx SpecContext, duration time.Duration, accepted bool) {
			object := &infrav1.ElementalRegistration{ObjectMeta: metav1.ObjectMeta{Namespace: "default", GenerateName: "r-"}}
			object.Spec.Config.Elemental.Registration.TokenDuration = &metav1.Duration{Duration: duration}
			err := server.Client.Create(ctx, object, client.DryRunAll)
			if accepted {
				Expect(err).NotTo(HaveOccurred())
				return
			}
			Expect(err).To(MatchError(ContainSubstring("tokenDuration has to be more than 0s and at most 8760h")))
		},
		Entry("a year", 8760*time.Hour, true),
		Entry("a second", time.Second, true),
		Entry("nothing", time.Duration(0), false),
		Entry("more than a year", 8761*time.Hour, false),
	)
})
