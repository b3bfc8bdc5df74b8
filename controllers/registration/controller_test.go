// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package registration_test

import (
	"errors"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/token"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/apiserver"
)

var _ = Describe("An ElementalRegistration", func() {
	It("is told of SMBIOS data that its templates name and nobody knows", func(ctx SpecContext) {
		object := makeRegistration(ctx, func(r *infrav1.ElementalRegistration) {
			r.Spec.HostLabels = map[string]string{"serial": "${System Information/Serial}"}
		})
		Eventually(server.Stored(ctx, object)).Should(SatisfyAll(
			apiserver.HaveCondition(infrav1.HostTemplatesValidCondition, metav1.ConditionFalse, infrav1.UnknownSMBIOSFieldReason),
			apiserver.HaveCondition(infrav1.RegistrationTokenReadyCondition, metav1.ConditionTrue, clusterv1.ReadyReason),
		))
		apiserver.Change(ctx, server.Client, object, func() { object.Spec.HostLabels["serial"] = "${System Information/Serial Number}" })
		Eventually(server.Stored(ctx, object)).Should(ready)
	})

	It("gets a key, an address and a token that hosts can register with", func(ctx SpecContext) {
		object := makeRegistration(ctx)
		Eventually(server.Stored(ctx, object)).Should(ready)
		Expect(object.Status).To(And(HaveField("URI", ownURI(object)), HaveField("CACert", "pem"), HaveField("TokenSecretName", "r1-token")))
		Expect(verify(ctx, object, "r1", ownURI(object))).To(Succeed())
		Expect(token.ExpiresAt(tokenOf(ctx, object))).To(And(
			BeTemporally("~", clock.Now().Add(8760*time.Hour), time.Second), BeTemporally("==", object.Status.TokenExpirationTime.Time)))
		Expect(said(object)).To(BeZero(), "spec is the operator's")

		for name, of := range map[string]corev1.SecretType{"r1": infrav1.RegistrationKeySecretType, "r1-token": infrav1.RegistrationTokenSecretType} {
			secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: object.Namespace, Name: name}}
			Expect(server.Stored(ctx, secret)()).To(SatisfyAll(
				HaveField("Type", of),
				HaveField("Data", HaveLen(1)),
				HaveField("Labels", HaveKey("clusterctl.cluster.x-k8s.io/move")),
				HaveField("OwnerReferences", ConsistOf(And(HaveField("UID", object.UID), HaveField("Controller", HaveValue(BeTrue()))))),
			))
		}
	})

	It("hands out the authorities of the API as they are by now, and keeps those that it has while they cannot be read", func(ctx SpecContext) {
		object, own := byHand(ctx)
		Expect(reconcile(ctx, own, object)).To(Succeed()) // says that it is not paused
		Expect(reconcile(ctx, own, object)).To(Succeed())
		Expect(object).To(And(ready, HaveField("Status.CACert", "pem")))
		own.CACert = func() (string, error) { return "of before and after", nil }
		Expect(reconcile(ctx, own, object)).To(Succeed())
		Expect(object).To(HaveField("Status.CACert", "of before and after"))
		own.CACert = func() (string, error) { return "", errors.New("no file") }
		Expect(reconcile(ctx, own, object)).To(MatchError(ContainSubstring("no file")))
		Expect(object).To(And(ready, HaveField("Status.CACert", "of before and after")))
	})

	It("says that the manager has no endpoint", func(ctx SpecContext) {
		object, own := byHand(ctx)
		own.Endpoint = ""
		Expect(reconcile(ctx, own, object)).To(Succeed())
		Expect(reconcile(ctx, own, object)).To(Succeed())
		Expect(object).To(apiserver.HaveCondition(infrav1.RegistrationTokenReadyCondition, metav1.ConditionFalse, infrav1.MissingAPIEndpointReason))
	})

	It("does nothing while it is paused", func(ctx SpecContext) {
		object := makeRegistration(ctx, func(r *infrav1.ElementalRegistration) {
			r.Annotations = map[string]string{clusterv1.PausedAnnotation: ""}
		})
		Eventually(server.Stored(ctx, object)).Should(apiserver.HaveCondition(clusterv1.PausedCondition, metav1.ConditionTrue, clusterv1.PausedReason))
		Consistently(func() string { return tokenOf(ctx, object) }).Should(BeEmpty())
		apiserver.Change(ctx, server.Client, object, func() { object.Annotations = nil })
		Eventually(server.Stored(ctx, object)).Should(ready)
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
