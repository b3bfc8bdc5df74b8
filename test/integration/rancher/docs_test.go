// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package rancher_test

import (
	"context"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"sigs.k8s.io/yaml"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/double/source"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/image"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/rancher"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/scenario"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/suite"
)

var _ = Describe("By the commands of docs/rancher.md a cluster", Ordered, func() {
	var cluster *scenario.Cluster
	BeforeAll(func(ctx SpecContext) {
		cluster = suite.NewCluster(ctx, theLab, scenario.Options{
			Name: "walk", Rancher: true, ControlPlane: 1, Workers: 2, DrainOptions: rancher.DrainOptions{Enabled: true, GracePeriod: -1},
		})
	})

	It("is prepared, and upgraded", func(ctx SpecContext) {
		wanted := patch(ctx, cluster, image.OS{}, scenario.Deployment)
		Eventually(says).WithContext(ctx).WithArguments(cluster, scenario.Deployment, infrav1.RolloutBlockedCondition).
			Should(Equal(said{"True", infrav1.DrainHooksMissingReason}))
		patchProvisioned(ctx, cluster, hooksOfDocs())
		Eventually(says).WithContext(ctx).WithArguments(cluster, scenario.Deployment, infrav1.RolloutBlockedCondition).
			Should(Equal(said{"True", infrav1.WaitingForRancherReason}))

		patchProvisioned(ctx, cluster, patchOfDocs("provisionGeneration"))
		Expect(cluster.AwaitRancher(ctx)).To(Succeed())
		Eventually(ends).WithContext(ctx).WithArguments(cluster, wanted).Should(And(HaveLen(2), HaveEach(infrav1.UpgradeSucceeded)))
	})

	It("goes on without a host whose upgrade was cancelled after a bad image", func(ctx SpecContext) {
		bad := patch(ctx, cluster, image.OS{Boot: source.BootUnhealthy}, scenario.Deployment)
		roll(ctx, cluster)
		attempt, err := cluster.AwaitEnd(ctx, bad, infrav1.UpgradeRolledBack)
		Expect(err).NotTo(HaveOccurred())
		_, err = cluster.Kubectl(ctx, "--namespace", cluster.Namespace(), "patch", "ehu", attempt.Name, "--type", "merge", "--patch", patchOfDocs("cancel"))
		Expect(err).NotTo(HaveOccurred())

		By("giving the other host, for which the image is quarantined, a good one in its drain")
		_, err = cluster.AwaitMessage(ctx, bad, "Preflight", "quarantine")
		Expect(err).NotTo(HaveOccurred())
		good := patch(ctx, cluster, image.OS{}, scenario.Deployment)
		Expect(cluster.AwaitRancher(ctx)).To(Succeed())
		Eventually(ends).WithContext(ctx).WithArguments(cluster, good).Should(ContainElement(infrav1.UpgradeSucceeded))
		waits(ctx, cluster, good, 1)

		By("upgrading the first one in the next drain")
		roll(ctx, cluster)
		Expect(cluster.AwaitRancher(ctx)).To(Succeed())
		Eventually(ends).WithContext(ctx).WithArguments(cluster, good).Should(And(HaveLen(2), HaveEach(infrav1.UpgradeSucceeded)))
		Expect(cluster.AwaitRolledOut(ctx, scenario.Deployment)).To(Succeed())
	})
})

// readDocs is the page with the commands.
func readDocs() string {
	GinkgoHelper()
	content, err := os.ReadFile(filepath.Join("..", "..", "..", "docs", "rancher.md"))
	Expect(err).NotTo(HaveOccurred())
	return string(content)
}

// hooksOfDocs is the upgradeStrategy in the manifest of the page, as a patch.
func hooksOfDocs() string {
	GinkgoHelper()
	_, manifest, found := strings.Cut(readDocs(), "```yaml\n")
	Expect(found).To(BeTrue())
	manifest, _, _ = strings.Cut(manifest, "```")
	cluster := map[string]any{}
	Expect(yaml.Unmarshal([]byte(manifest), &cluster)).To(Succeed())
	patch, err := yaml.Marshal(map[string]any{"spec": cluster["spec"]})
	Expect(err).NotTo(HaveOccurred())
	return string(patch)
}

// patchOfDocs is the patch of a command of the page that sets a field.
func patchOfDocs(field string) string {
	GinkgoHelper()
	found := regexp.MustCompile(`-p '(\{[^']*"` + field + `"[^']*\})'`).FindStringSubmatch(readDocs())
	Expect(found).To(HaveLen(2), field)
	return found[1]
}

// patchProvisioned patches the cluster as Rancher has it.
func patchProvisioned(ctx context.Context, cluster *scenario.Cluster, patch string) {
	GinkgoHelper()
	_, err := cluster.Kubectl(ctx, "--namespace", cluster.Namespace(), "patch", "clusters.provisioning.cattle.io", cluster.Options.Name, "--type", "merge", "--patch", patch)
	Expect(err).NotTo(HaveOccurred())
}
