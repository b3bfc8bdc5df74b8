// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package preflight_test

import (
	"context"
	"encoding/json"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/audit"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/image"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/suite"
)

// verifyImages makes the cluster require signatures by a key; nil requires none.
func verifyImages(ctx context.Context, verification *infrav1.ImageVerification) {
	GinkgoHelper()
	content, err := json.Marshal(map[string]any{"spec": map[string]any{"imageVerification": verification}})
	Expect(err).NotTo(HaveOccurred())
	printed, err := kubectl(ctx, "patch", "elementalcluster", cluster.Options.Name, "--type", "merge", "--patch", string(content))
	Expect(err).NotTo(HaveOccurred(), printed)
}

// signBy pushes a bundle, signed by an identity, for an image.
func signBy(ctx context.Context, pushed image.Image, instance *image.Sigstore, by image.Identity) {
	GinkgoHelper()
	bundle, err := instance.Bundle(image.Statement(pushed.Digest, image.SignPredicate), by)
	Expect(err).NotTo(HaveOccurred())
	Expect(cluster.Lab.Registry.Refer(ctx, pushed, bundle)).To(Succeed())
}

// cordons is how often Nodes have been cordoned so far.
func cordons() (times int) {
	for _, intervals := range audit.Cordons(suite.Audit(cluster.Lab.Workload)) {
		times += len(intervals)
	}
	return times
}

var _ = Describe("An image", func() {
	It("that is not signed stops the rollout before a node is touched, and goes on once it is", func(ctx SpecContext) {
		signer, err := image.NewSigner()
		Expect(err).NotTo(HaveOccurred())
		wanted := push(ctx)
		verifyImages(ctx, &infrav1.ImageVerification{Rules: []infrav1.ImageVerificationRule{
			{Prefix: cluster.Lab.Registry.Host(), PublicKeys: []string{signer.PublicKey}},
		}})
		DeferCleanup(verifyImages, (*infrav1.ImageVerification)(nil))
		before := cordons()

		Expect(cluster.PatchImage(ctx, wanted)).To(Succeed())
		attempt, err := cluster.AwaitEnd(ctx, wanted, infrav1.UpgradeFailed)
		Expect(err).NotTo(HaveOccurred())
		Expect(attempt.Status.Message).To(And(ContainSubstring("has no accepted signature for prefix "+cluster.Lab.Registry.Host()),
			ContainSubstring("it is not signed: there is no ")))
		Expect(cordons()).To(Equal(before))

		By("signing it, and retrying")
		Expect(cluster.Lab.Registry.Sign(ctx, wanted, signer)).To(Succeed())
		Expect(cluster.Lab.Kube.Delete(ctx, attempt)).To(Succeed())
		Expect(cluster.AwaitImage(ctx, wanted)).To(Succeed())
	})

	It("that an identity has to have signed waits for the trusted root, and stops the rollout when another has signed", func(ctx SpecContext) {
		instance, err := image.NewSigstore()
		Expect(err).NotTo(HaveOccurred())
		releaser := image.Identity{Issuer: "https://issuer.test", Subject: "https://ci.test/release", LoggedAfter: time.Minute}
		stranger := image.Identity{Issuer: releaser.Issuer, Subject: "https://ci.test/pull-request", LoggedAfter: time.Minute}
		wanted := push(ctx)
		signBy(ctx, wanted, instance, stranger)
		verifyImages(ctx, &infrav1.ImageVerification{
			TrustedRootRef: &infrav1.TrustedRootReference{Name: "sigstore"},
			Rules: []infrav1.ImageVerificationRule{{
				Prefix: cluster.Lab.Registry.Host(), Identities: []infrav1.ImageIdentity{{Issuer: releaser.Issuer, Subject: releaser.Subject}},
			}},
		})
		DeferCleanup(verifyImages, (*infrav1.ImageVerification)(nil))
		before := cordons()

		Expect(cluster.PatchImage(ctx, wanted)).To(Succeed())
		config := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: cluster.Namespace(), Name: "sigstore"}}
		Eventually(cluster.Attempts, patience, look).WithContext(ctx).Should(ContainElement(And(
			HaveField("Spec.ImageURI", wanted.URI()), HaveField("Status.Step", "Preflight"),
			HaveField("Status.Message", ContainSubstring("there is no ConfigMap "+config.Namespace+"/sigstore, which trustedRootRef names")),
		)))

		By("creating the trusted root")
		root, err := instance.TrustedRoot()
		Expect(err).NotTo(HaveOccurred())
		config.Data = map[string]string{infrav1.TrustedRootKey: root}
		Expect(cluster.Lab.Kube.Create(ctx, config)).To(Succeed())
		again, err := cluster.AwaitEnd(ctx, wanted, infrav1.UpgradeFailed)
		Expect(err).NotTo(HaveOccurred())
		Expect(again.Status.Message).To(ContainSubstring(`made by "https://ci.test/pull-request" of issuer "https://issuer.test", who is not among the rule's identities`))
		Expect(cordons()).To(Equal(before))

		By("signing it by the identity, and retrying")
		signBy(ctx, wanted, instance, releaser)
		Expect(cluster.Lab.Kube.Delete(ctx, again)).To(Succeed())
		Expect(cluster.AwaitImage(ctx, wanted)).To(Succeed())
	})
})
