// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package registration_test

import (
	"context"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/rancher"
)

const (
	preAnswer   = infrav1.RancherPreDrainAnnotation
	postAnswer  = infrav1.RancherPostDrainAnnotation
	onlyAnswers = "of a Secret of type rke.cattle.io/machine-plan the manager changes the annotations"
)

// planSecret of Rancher, with a drain that is answered in part.
func planSecret(name string) *corev1.Secret {
	return &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "default", Name: name, Labels: map[string]string{rancher.MachineNameLabel: "m"}, Finalizers: []string{"example.com/kept"},
			Annotations:     map[string]string{rancher.DrainOptionsAnnotation: "T", "example.com/theirs": "1", preAnswer: "T"},
			OwnerReferences: []metav1.OwnerReference{{APIVersion: "rke.cattle.io/v1", Kind: "RKEBootstrap", Name: "m", UID: "u"}},
		},
		Type: "rke.cattle.io/machine-plan",
		Data: map[string][]byte{"plan": []byte("secret")},
	}
}

func annotate(key, value string) func(*corev1.Secret) {
	return func(secret *corev1.Secret) { metav1.SetMetaDataAnnotation(&secret.ObjectMeta, key, value) }
}

func without(key string) func(*corev1.Secret) {
	return func(secret *corev1.Secret) { delete(secret.Annotations, key) }
}

// tryPlan has the manager change a plan secret as the controller of drains does, which sends what differs.
func tryPlan(ctx context.Context, stored, change func(*corev1.Secret)) (*corev1.Secret, error) {
	GinkgoHelper()
	secret := planSecret("")
	secret.GenerateName = "plan-"
	stored(secret)
	Expect(server.Client.Create(ctx, secret)).To(Succeed())
	before := secret.DeepCopy()
	change(secret)
	return secret, clientOf(managerAccount).Patch(ctx, secret, client.MergeFrom(before))
}

var _ = Describe("The policy on Secrets, of those of Rancher,", Ordered, func() {
	BeforeAll(enforcePolicy)

	DescribeTable("lets the manager change its answers", func(ctx SpecContext, stored, change func(*corev1.Secret)) {
		found, err := tryPlan(ctx, stored, change)
		Expect(err).NotTo(HaveOccurred())
		Expect(server.Client.Get(ctx, client.ObjectKeyFromObject(found), found)).To(Succeed())
		expected := planSecret("plan")
		stored(expected)
		change(expected)
		Expect(found.Annotations).To(HaveLen(len(expected.Annotations)))
		for key, value := range expected.Annotations {
			Expect(found.Annotations).To(HaveKeyWithValue(key, value))
		}
	},
		Entry("by adding one", unchanged, annotate(postAnswer, "T")),
		Entry("by adding the first", func(secret *corev1.Secret) { secret.Annotations = nil }, annotate(preAnswer, "T")),
		Entry("by changing one", unchanged, annotate(preAnswer, "U")),
		Entry("by removing one", unchanged, without(preAnswer)),
		Entry("by removing the last", func(secret *corev1.Secret) { secret.Annotations = map[string]string{postAnswer: "T"} }, without(postAnswer)),
		Entry("by all at once", unchanged, func(secret *corev1.Secret) { without(preAnswer)(secret); annotate(postAnswer, "T")(secret) }),
		Entry("on one that may not be changed otherwise", immutable, annotate(postAnswer, "T")),
		Entry("on one without data, labels, owners and finalizers", func(secret *corev1.Secret) {
			secret.Data, secret.Labels, secret.OwnerReferences, secret.Finalizers = nil, nil, nil, nil
		}, annotate(postAnswer, "T")),
	)

	DescribeTable("lets it change nothing else", func(ctx SpecContext, change func(*corev1.Secret)) {
		for _, at := range []func(*corev1.Secret){unchanged, annotate(postAnswer, "T")} { // alone, and with an answer
			_, err := tryPlan(ctx, unchanged, func(secret *corev1.Secret) { at(secret); change(secret) })
			Expect(err).To(MatchError(ContainSubstring(onlyAnswers)))
		}
	},
		Entry("no other annotation is added", annotate("example.com/ours", "1")),
		Entry("none is changed", annotate("example.com/theirs", "2")),
		Entry("none is removed", without("example.com/theirs")),
		Entry("none of Rancher's is changed", annotate(rancher.DrainOptionsAnnotation, "U")),
		Entry("none of Rancher's is removed", without(rancher.DrainOptionsAnnotation)),
		Entry("none of Rancher's is added", annotate(rancher.DrainDoneAnnotation, "T")),
		Entry("no data are changed", func(secret *corev1.Secret) { secret.Data["plan"] = []byte("ours") }),
		Entry("no data are added", func(secret *corev1.Secret) { secret.Data["other"] = []byte("ours") }),
		Entry("no data are removed", func(secret *corev1.Secret) { secret.Data = nil }),
		Entry("no label is changed", func(secret *corev1.Secret) { secret.Labels[rancher.MachineNameLabel] = "other" }),
		Entry("no label is removed", func(secret *corev1.Secret) { secret.Labels = nil }),
		Entry("no owner is changed", func(secret *corev1.Secret) { secret.OwnerReferences[0].Name = "other" }),
		Entry("no owner is removed", func(secret *corev1.Secret) { secret.OwnerReferences = nil }),
		Entry("no finalizer is added", func(secret *corev1.Secret) { secret.Finalizers = append(secret.Finalizers, "example.com/ours") }),
		Entry("no finalizer is removed", func(secret *corev1.Secret) { secret.Finalizers = nil }),
		Entry("it is not made immutable", immutable),
	)

	It("lets it create none, and others do", func(ctx SpecContext) {
		secret := planSecret("created")
		Expect(clientOf(managerAccount).Create(ctx, secret, client.DryRunAll)).To(MatchError(ContainSubstring(onlyAnswers)))
		Expect(clientOf("system:serviceaccount:cattle-system:rancher").Create(ctx, secret, client.DryRunAll)).To(Succeed())
	})

	It("lets it answer on no Secret of another type", func(ctx SpecContext) {
		for _, kind := range []corev1.SecretType{corev1.SecretTypeOpaque, "rke.cattle.io/machine-plan-token", infrav1.RegistrationKeySecretType} {
			_, err := tryPlan(ctx, func(secret *corev1.Secret) { secret.Type = kind }, annotate(postAnswer, "T"))
			Expect(err).To(MatchError(ContainSubstring(otherTypes)), "type %s", kind)
		}
	})

	It("lets it make none of them another one", func(ctx SpecContext) {
		_, err := tryPlan(ctx, unchanged, func(secret *corev1.Secret) { secret.Type = corev1.SecretTypeOpaque })
		Expect(err).To(HaveOccurred(), "the API server lets nobody change a type")
	})
})

func immutable(secret *corev1.Secret) { secret.Immutable = ptr.To(true) }
