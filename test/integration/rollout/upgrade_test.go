// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package rollout_test

import (
	"context"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/audit"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/double/source"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/image"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/scenario"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/suite"
)

// The lab has neither the feature gates nor the extension: Cluster API takes no part.
var _ = Describe("A patched template", Ordered, func() {
	var (
		cluster *scenario.Cluster
		before  []scenario.Identity
		began   time.Time
		// good is the image that all hosts run.
		good image.Image
	)

	BeforeAll(func(ctx SpecContext) {
		cluster = suite.NewCluster(ctx, suite.StartLab(ctx, lab.Options{WithoutInPlaceUpdates: true, WithoutExtension: true}), scenario.Options{})
		Expect(cluster.DeployWeb(ctx)).To(Succeed())
		var err error
		before, err = cluster.Identities(ctx)
		Expect(err).NotTo(HaveOccurred())
	})

	BeforeEach(func() { began = time.Now() })
	AfterAll(func() { suite.ExpectOwnersLeftAlone(cluster.Lab) })

	It("upgrades every host in place, one after the other", func(ctx SpecContext) {
		wanted := push(ctx, cluster, "v2", image.OS{UpgradeSeconds: 7})
		Expect(cluster.PatchImage(ctx, wanted)).To(Succeed())
		Expect(cluster.AwaitImage(ctx, wanted)).To(Succeed())

		expectKept(ctx, cluster, before)
		expectUndisturbed(cluster, began)
		Expect(cordonedNodes(ctx, cluster)).To(BeEmpty())
		for _, host := range cluster.Lab.Hosts() {
			Expect(upgradesOf(host)).To(Equal(1), "elemental upgrade runs once on host "+host.Name())
		}
	})

	It("is rejected while a person has cordoned a node, and does not touch one that is cordoned later", func(ctx SpecContext) {
		const first = "demo-node-2"
		setCordon(ctx, cluster, "cordon", first)
		wanted := push(ctx, cluster, "v3", image.OS{})
		Expect(cluster.PatchImage(ctx, wanted)).To(MatchError(ContainSubstring("Node/" + first + ": was cordoned by someone else")))
		setCordon(ctx, cluster, "uncordon", first)
		held := suite.HoldHosts(cluster.Lab, infrav1.HostUpgradeApplying)
		Expect(cluster.PatchImage(ctx, wanted)).To(Succeed())

		By("cordoning a node while another is upgraded")
		node := ""
		Eventually(func(ctx context.Context) (string, error) {
			var err error
			node, err = nodeWithoutSlot(ctx, cluster)
			return node, err
		}).WithContext(ctx).ShouldNot(BeEmpty())
		setCordon(ctx, cluster, "cordon", node)
		held.Release(infrav1.HostUpgradeApplying)
		Eventually(attemptOn).WithContext(ctx).WithArguments(cluster, node, wanted).
			Should(HaveField("Status.Message", ContainSubstring("Node/"+node+": was cordoned by someone else")))
		Consistently(cordonedNodes, calm).WithContext(ctx).WithArguments(cluster).Should(ContainElement(node))
		Expect(upgradesOf(cluster.Lab.Host(node))).To(Equal(1), "the host is not touched")

		setCordon(ctx, cluster, "uncordon", node)
		Expect(cluster.AwaitImage(ctx, wanted)).To(Succeed())
		expectKept(ctx, cluster, before)
	})

	It("stops at a bad image, and continues with the next good one (finding 10)", func(ctx SpecContext) {
		former, err := digests(ctx, cluster)
		Expect(err).NotTo(HaveOccurred())
		bad := push(ctx, cluster, "v4", image.OS{Boot: source.BootUnhealthy})
		Expect(cluster.PatchImage(ctx, bad)).To(Succeed())
		attempt, err := cluster.AwaitEnd(ctx, bad, infrav1.UpgradeRolledBack)
		Expect(err).NotTo(HaveOccurred())

		By("quarantining the digest and touching no other host")
		Expect(quarantine(ctx, cluster)).To(HaveKeyWithValue(bad.PlatformDigest, attempt.Spec.HostName))
		Consistently(digests, calm).WithContext(ctx).WithArguments(cluster).Should(Equal(former))
		Expect(cordonedNodes(ctx, cluster)).To(BeEmpty(), "the former OS is good: its node serves again")

		By("patching a good image")
		good = push(ctx, cluster, "v5", image.OS{})
		Expect(cluster.PatchImage(ctx, good)).To(Succeed())
		Expect(cluster.AwaitImage(ctx, good)).To(Succeed())
		Expect(audit.TriggeredFor(suite.Audit(cluster.Lab.Management), bad.URI())).To(Equal([]string{attempt.Spec.HostName}),
			"one host only was triggered for the bad image")
		expectKept(ctx, cluster, before)
		expectUndisturbed(cluster, began)
	})

	It("recovers from an image that does not boot at all, and from an upgrade that is killed halfway", func(ctx SpecContext) {
		dead := push(ctx, cluster, "v6", image.OS{Boot: source.BootNone})
		Expect(cluster.PatchImage(ctx, dead)).To(Succeed())
		attempt, err := cluster.AwaitEnd(ctx, dead, infrav1.UpgradeRolledBack)
		Expect(err).NotTo(HaveOccurred())

		By("patching the former image back, which the host that fell back already runs")
		fallen := cluster.Lab.Host(attempt.Spec.HostName)
		upgrades := upgradesOf(fallen)
		Expect(cluster.PatchImage(ctx, good)).To(Succeed())
		Expect(cluster.AwaitImage(ctx, good)).To(Succeed())
		Expect(upgradesOf(fallen)).To(Equal(upgrades), "there was nothing to upgrade")

		By("continuing with an upgrade that is killed halfway once on each host")
		fixed := push(ctx, cluster, "v7", image.OS{UpgradeKilled: true})
		Expect(cluster.PatchImage(ctx, fixed)).To(Succeed())
		Expect(cluster.AwaitImage(ctx, fixed)).To(Succeed())
		expectKept(ctx, cluster, before)
		expectUndisturbed(cluster, began)
	})

	It("ends an attempt for an image that does not exist before the node is touched", func(ctx SpecContext) {
		missing := cluster.Image
		missing.Ref += "-missing"
		Expect(cluster.PatchImage(ctx, missing)).To(Succeed())
		_, err := cluster.AwaitEnd(ctx, missing, infrav1.UpgradeFailed)
		Expect(err).NotTo(HaveOccurred())
		Expect(cordonedNodes(ctx, cluster)).To(BeEmpty())

		By("rolling back to an image by hand")
		wanted := push(ctx, cluster, "v8", image.OS{})
		Expect(cluster.PatchImage(ctx, wanted)).To(Succeed())
		Expect(cluster.AwaitImage(ctx, wanted)).To(Succeed())
		expectKept(ctx, cluster, before)
	})
})

func push(ctx context.Context, cluster *scenario.Cluster, tag string, os image.OS) image.Image {
	GinkgoHelper()
	pushed, err := cluster.PushImage(ctx, tag, os)
	Expect(err).NotTo(HaveOccurred())
	return pushed
}

func upgradesOf(host *lab.Host) int {
	GinkgoHelper()
	count, err := host.Upgrades()
	Expect(err).NotTo(HaveOccurred())
	return count
}

// quarantine has the hosts that rolled back, by the digest of the image.
func quarantine(ctx context.Context, cluster *scenario.Cluster) map[string]string {
	GinkgoHelper()
	object := &infrav1.ElementalCluster{}
	Expect(cluster.Lab.Kube.Get(ctx, client.ObjectKey{Namespace: cluster.Namespace(), Name: cluster.Options.Name}, object)).To(Succeed())
	hosts := map[string]string{}
	for _, image := range object.Spec.Quarantine {
		hosts[image.Digest] = image.Host
	}
	return hosts
}

func cordonedNodes(ctx context.Context, cluster *scenario.Cluster) ([]string, error) {
	nodes, err := cluster.Nodes(ctx)
	cordoned := []string{}
	for i := range nodes {
		if nodes[i].Spec.Unschedulable {
			cordoned = append(cordoned, nodes[i].Name)
		}
	}
	return cordoned, err
}

func attemptOn(ctx context.Context, cluster *scenario.Cluster, host string, wanted image.Image) (*infrav1.ElementalHostUpgrade, error) {
	attempts, err := cluster.Attempts(ctx)
	for i := range attempts {
		if attempts[i].Spec.HostName == host && attempts[i].Spec.ImageURI == wanted.URI() {
			return &attempts[i], nil
		}
	}
	return &infrav1.ElementalHostUpgrade{}, err
}

func digests(ctx context.Context, cluster *scenario.Cluster) (map[string]string, error) {
	hosts, err := cluster.Hosts(ctx)
	booted := map[string]string{}
	for i := range hosts {
		booted[hosts[i].Name] = hosts[i].Status.OS.Digest
	}
	return booted, err
}

func setCordon(ctx context.Context, cluster *scenario.Cluster, do, node string) {
	GinkgoHelper()
	_, err := cluster.Lab.WorkloadKubectl(ctx, do, node)
	Expect(err).NotTo(HaveOccurred())
}

// nodeWithoutSlot is a node that is not being upgraded while another one is; empty if none is.
func nodeWithoutSlot(ctx context.Context, cluster *scenario.Cluster) (string, error) {
	elemental := &infrav1.ElementalCluster{}
	key := client.ObjectKey{Namespace: cluster.Namespace(), Name: cluster.Options.Name}
	if err := cluster.Lab.Kube.Get(ctx, key, elemental); err != nil || len(elemental.Status.UpgradeSlots) == 0 {
		return "", err
	}
	attempts, err := cluster.Attempts(ctx)
	if err != nil {
		return "", err
	}
	for i := range attempts {
		if attempts[i].Name != elemental.Status.UpgradeSlots[0].Upgrade {
			continue
		}
		for _, host := range cluster.Lab.Hosts() {
			if host.Name() != attempts[i].Spec.HostName {
				return host.Name(), nil
			}
		}
	}
	return "", nil
}
