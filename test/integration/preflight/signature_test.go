// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package preflight_test

import (
	"context"
	"encoding/json"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/audit"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/image"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/suite"
)

// verifyImages makes the cluster ask for signatures by a key; nil asks for none.
func verifyImages(ctx context.Context, verification *infrav1.ImageVerification) {
	GinkgoHelper()
	content, err := json.Marshal(map[string]any{"spec": map[string]any{"imageVerification": verification}})
	Expect(err).NotTo(HaveOccurred())
	printed, err := kubectl(ctx, "patch", "elementalcluster", cluster.Options.Name, "--type", "merge", "--patch", string(content))
	Expect(err).NotTo(HaveOccurred(), printed)
}

// cordons is how often Nodes have been unschedulable so far.
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
		Expect(attempt.Status.Message).To(And(ContainSubstring("has no signature that counts for prefix "+cluster.Lab.Registry.Host()),
			ContainSubstring("it is not signed: there is no ")))
		Expect(cordons()).To(Equal(before))

		By("signing it, and trying again")
		Expect(cluster.Lab.Registry.Sign(ctx, wanted, signer)).To(Succeed())
		Expect(cluster.Lab.Kube.Delete(ctx, attempt)).To(Succeed())
		Expect(cluster.AwaitImage(ctx, wanted)).To(Succeed())
	})
})
