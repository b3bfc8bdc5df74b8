// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package registration_test

import (
	"context"
	"path/filepath"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/capi"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/repository"
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

// keySecret is one as the manager makes them.
func keySecret(name string) *corev1.Secret {
	return &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, OwnerReferences: []metav1.OwnerReference{
			{APIVersion: infrav1.GroupVersion.String(), Kind: "ElementalRegistration", Name: name, UID: "u"},
		}},
		Type: infrav1.RegistrationKeySecretType,
	}
}

func otherType(secret *corev1.Secret)  { secret.Type = corev1.SecretTypeOpaque }
func otherOwner(secret *corev1.Secret) { secret.OwnerReferences[0].Kind = "ElementalHost" }
func otherGroup(secret *corev1.Secret) { secret.OwnerReferences[0].APIVersion = "example.com/v1" }
func noOwner(secret *corev1.Secret)    { secret.OwnerReferences = nil }

var _ = Describe("The policy on Secrets", Ordered, func() {
	BeforeAll(func(ctx SpecContext) {
		root, err := repository.Root()
		Expect(err).NotTo(HaveOccurred())
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
	})

	It("lets the manager create and change signing keys", func(ctx SpecContext) {
		manager, secret := clientOf(managerAccount), keySecret("own")
		Expect(manager.Create(ctx, secret)).To(Succeed())
		secret.Data = map[string][]byte{"key": []byte("k")}
		Expect(manager.Update(ctx, secret)).To(Succeed())
	})

	DescribeTable("lets the manager create no other Secret", func(ctx SpecContext, change func(*corev1.Secret), why string) {
		secret := keySecret("created")
		change(secret)
		Expect(clientOf(managerAccount).Create(ctx, secret, client.DryRunAll)).To(MatchError(ContainSubstring(why)))
		for _, other := range []string{"system:serviceaccount:wherever:other-elemental-manager", "jane:elemental-manager", "system:admin"} {
			made := keySecret("created")
			change(made)
			Expect(clientOf(other).Create(ctx, made, client.DryRunAll)).To(Succeed(), "it is %s's", other)
		}
	},
		Entry("of another type", otherType, "the manager writes Secrets of type infrastructure.cluster.x-k8s.io/registration-key only"),
		Entry("with another owner", otherOwner, "the manager writes Secrets that an ElementalRegistration owns only"),
		Entry("with an owner of another group", otherGroup, "the manager writes Secrets that an ElementalRegistration owns only"),
		Entry("without an owner", noOwner, "the manager writes Secrets that an ElementalRegistration owns only"),
	)

	DescribeTable("lets the manager change no other Secret into one, nor one into another",
		func(ctx SpecContext, name string, stored, written func(*corev1.Secret), why string) {
			secret := keySecret(name)
			stored(secret)
			Expect(server.Client.Create(ctx, secret)).To(Succeed())
			secret.OwnerReferences = keySecret(name).OwnerReferences
			written(secret)
			Expect(clientOf(managerAccount).Update(ctx, secret)).To(MatchError(ContainSubstring(why)))
		},
		Entry("of another type", "stored-type", otherType, func(*corev1.Secret) {}, "registration-key only"),
		Entry("with another owner", "stored-owner", otherOwner, func(*corev1.Secret) {}, "an ElementalRegistration owns only"),
		Entry("into one without an owner", "written-owner", func(*corev1.Secret) {}, noOwner, "an ElementalRegistration owns only"),
	)
})
