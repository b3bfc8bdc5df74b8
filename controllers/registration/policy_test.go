// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package registration_test

import (
	"context"
	"path/filepath"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/capi"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/specs"
)

const managerAccount = "system:serviceaccount:wherever:elemental-manager"

// clientOf somebody whom no role restricts: what is refused is refused by a policy.
func clientOf(user string) client.Client {
	GinkgoHelper()
	config := rest.CopyConfig(server.Config)
	config.Impersonate = rest.ImpersonationConfig{UserName: user, Groups: []string{"system:masters"}}
	made, err := client.New(config, client.Options{Scheme: server.Scheme})
	Expect(err).NotTo(HaveOccurred())
	return made
}

// keySecret and heldSecret are as the manager makes them for a registration.
func keySecret(registration string) *corev1.Secret {
	return &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: registration, OwnerReferences: []metav1.OwnerReference{
			{APIVersion: infrav1.GroupVersion.String(), Kind: "ElementalRegistration", Name: registration, UID: "u"},
		}},
		Type: infrav1.RegistrationKeySecretType,
	}
}

func heldSecret(registration string) *corev1.Secret {
	secret := keySecret(registration)
	secret.Name, secret.Type = registration+"-token", infrav1.RegistrationTokenSecretType
	return secret
}

func unchanged(*corev1.Secret)         {}
func otherType(secret *corev1.Secret)  { secret.Type = corev1.SecretTypeOpaque }
func otherOwner(secret *corev1.Secret) { secret.OwnerReferences[0].Kind = "ElementalHost" }
func otherGroup(secret *corev1.Secret) { secret.OwnerReferences[0].APIVersion = "example.com/v1" }
func noOwner(secret *corev1.Secret)    { secret.OwnerReferences = nil }
func otherName(secret *corev1.Secret)  { secret.Name = "other" }
func generated(secret *corev1.Secret)  { secret.Name, secret.GenerateName = "", secret.Name }

// otherOne makes it a Secret of a registration whose Secrets have other names.
func otherOne(secret *corev1.Secret) { secret.OwnerReferences[0].Name = secret.Name + "-of-another" }

const (
	otherTypes  = "the manager creates Secrets of types infrastructure.cluster.x-k8s.io/registration-key and infrastructure.cluster.x-k8s.io/registration-token only, and changes those of the latter only"
	otherOwners = "the manager writes only Secrets that an ElementalRegistration owns and gives its name"
)

// enforcePolicy installs it, and waits until it holds.
func enforcePolicy(ctx SpecContext) {
	root := specs.Root()
	policy, err := capi.Load(filepath.Join(root, "config", "policy", "manager_secrets.yaml"))
	Expect(err).NotTo(HaveOccurred())
	for _, object := range policy {
		Expect(client.IgnoreAlreadyExists(server.Client.Create(ctx, object))).To(Succeed())
	}
	Eventually(func(ctx context.Context) error {
		refused := keySecret("early")
		otherType(refused)
		return clientOf(managerAccount).Create(ctx, refused, client.DryRunAll)
	}).WithContext(ctx).Should(HaveOccurred(), "the API server acts by a policy a moment after it was made")
}

var _ = Describe("The policy on Secrets", Ordered, func() {
	BeforeAll(enforcePolicy)

	It("lets the manager create the Secrets of a registration, and renew the token, as its controller does", func(ctx SpecContext) {
		object, own := byHand(ctx, lasting(10*time.Hour))
		own.Client = clientOf(managerAccount)
		settle(ctx, own, object)
		first := tokenOf(ctx, object)
		clock.SetTime(clock.Now().Add(5*time.Hour + time.Second))
		settle(ctx, own, object)
		Expect(tokenOf(ctx, object)).NotTo(Equal(first))
	})

	DescribeTable("lets the manager create no other Secret", func(ctx SpecContext, of func(string) *corev1.Secret, change func(*corev1.Secret), why string) {
		secret := of("created")
		change(secret)
		Expect(clientOf(managerAccount).Create(ctx, secret, client.DryRunAll)).To(MatchError(ContainSubstring(why)))
		for _, other := range []string{"system:serviceaccount:wherever:other-elemental-manager", "jane:elemental-manager", "system:admin"} {
			made := of("created")
			change(made)
			Expect(clientOf(other).Create(ctx, made, client.DryRunAll)).To(Succeed(), "it is %s's", other)
		}
	},
		Entry("of another type", keySecret, otherType, otherTypes),
		Entry("with another owner", keySecret, otherOwner, otherOwners),
		Entry("with an owner of another group", keySecret, otherGroup, otherOwners),
		Entry("without an owner", keySecret, noOwner, otherOwners),
		Entry("with another name than its registration", keySecret, otherName, otherOwners),
		Entry("for another registration than its name says", keySecret, otherOne, otherOwners),
		Entry("with a key and the name of a token", func(name string) *corev1.Secret {
			secret := heldSecret(name)
			secret.Type = infrav1.RegistrationKeySecretType
			return secret
		}, unchanged, otherOwners),
		Entry("with a token, and another owner", heldSecret, otherOwner, otherOwners),
		Entry("with a token, without an owner", heldSecret, noOwner, otherOwners),
		Entry("with a token, and another name", heldSecret, otherName, otherOwners),
		Entry("with a token, and a generated name", heldSecret, generated, otherOwners),
		Entry("with a token, for another registration than its name says", heldSecret, otherOne, otherOwners),
		Entry("with a token and the name of a key", func(name string) *corev1.Secret {
			secret := keySecret(name)
			secret.Type = infrav1.RegistrationTokenSecretType
			return secret
		}, unchanged, otherOwners),
	)

	DescribeTable("lets the manager change no other Secret into one with a token, nor one into another",
		func(ctx SpecContext, name string, of func(string) *corev1.Secret, stored, written func(*corev1.Secret), why string) {
			secret := of(name)
			stored(secret)
			Expect(server.Client.Create(ctx, secret)).To(Succeed())
			secret.OwnerReferences = of(name).OwnerReferences
			secret.Data = map[string][]byte{"token": []byte("theirs")}
			written(secret)
			Expect(clientOf(managerAccount).Update(ctx, secret)).To(MatchError(ContainSubstring(why)))
			Expect(server.Client.Update(ctx, secret)).To(Succeed(), "others may")
		},
		Entry("with a key", "stored-key", keySecret, unchanged, unchanged, otherTypes),
		Entry("of another type", "stored-type", heldSecret, otherType, unchanged, otherTypes),
		Entry("with another owner", "stored-owner", heldSecret, otherOwner, unchanged, otherOwners),
		Entry("without an owner", "stored-none", heldSecret, noOwner, unchanged, otherOwners),
		Entry("with another name", "stored-name", heldSecret, func(secret *corev1.Secret) { secret.Name = "stored-other" }, unchanged, otherOwners),
		Entry("into one without an owner", "written-owner", heldSecret, unchanged, noOwner, otherOwners),
		Entry("into one of another registration", "written-name", heldSecret, unchanged, otherOne, otherOwners),
	)
})
