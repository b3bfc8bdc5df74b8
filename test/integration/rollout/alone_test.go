// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package rollout_test

import (
	"context"
	"slices"
	"strconv"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	runtimev1 "sigs.k8s.io/cluster-api/api/runtime/v1beta2"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/audit"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/image"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/scenario"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/suite"
)

var _ = Describe("A pool with a surge that this provider upgrades alone", Ordered, func() {
	var cluster *scenario.Cluster
	BeforeAll(func(ctx SpecContext) {
		cluster = suite.NewCluster(ctx, suite.StartLab(ctx, lab.Options{WithoutInPlaceUpdates: true, WithoutExtension: true}),
			scenario.Options{Driver: infrav1.DriverDirect, MaxSurge: 1, Workers: 2, Spare: 1})
	})
	scale := func(ctx context.Context, replicas int) {
		GinkgoHelper()
		_, err := cluster.Kubectl(ctx, "--namespace", cluster.Namespace(), "scale", "machinedeployment", scenario.Deployment, "--replicas", strconv.Itoa(replicas))
		Expect(err).NotTo(HaveOccurred())
	}
	// stopOne stops the next host while it writes an image, and no other.
	stopOne := func(ctx context.Context, wanted image.Image) (goOn func()) {
		GinkgoHelper()
		held := suite.HoldHosts(cluster.Lab, infrav1.HostUpgradeApplying)
		Expect(cluster.PatchImage(ctx, wanted)).To(Succeed())
		Eventually(held.Stopped).WithArguments(infrav1.HostUpgradeApplying).Should(Equal(1))
		attempts, err := cluster.Attempts(ctx)
		Expect(err).NotTo(HaveOccurred())
		at := slices.IndexFunc(attempts, func(of infrav1.ElementalHostUpgrade) bool { return of.PhaseNow().IsActive() })
		Expect(at).To(BeNumerically(">=", 0))
		held.Release(infrav1.HostUpgradeApplying, attempts[at].Spec.HostName)
		return func() { held.Release(infrav1.HostUpgradeApplying) }
	}
	deleted := func() []string { return audit.Deleted(suite.Audit(cluster.Lab.Management), "machines") }

	It("takes a patch, although the manager is killed right after it, beside the extension of another provider", func(ctx SpecContext) {
		foreign := &runtimev1.ExtensionConfig{
			ObjectMeta: metav1.ObjectMeta{Name: "foreign"},
			Spec: runtimev1.ExtensionConfigSpec{
				ClientConfig:      runtimev1.ClientConfig{URL: "https://127.0.0.1:1"},
				NamespaceSelector: &metav1.LabelSelector{},
			},
		}
		Expect(cluster.Lab.Kube.Create(ctx, foreign)).To(Succeed())
		before, err := cluster.Identities(ctx)
		Expect(err).NotTo(HaveOccurred())
		wanted := push(ctx, cluster, "away", image.OS{})
		Expect(cluster.PatchImage(ctx, wanted)).To(Succeed())
		cluster.Lab.Provider.Process.Kill()
		Expect(cluster.Lab.Provider.Process.Restart()).To(Succeed())
		Expect(cluster.AwaitImage(ctx, wanted)).To(Succeed())
		expectKept(ctx, cluster, before)
	})

	It("gives a Machine the new content that is added in mid-rollout, refuses what would replace Machines meanwhile, and loses none but the one that a user scales down", func(ctx SpecContext) {
		before, err := cluster.Identities(ctx)
		Expect(err).NotTo(HaveOccurred())
		wanted := push(ctx, cluster, "scaled", image.OS{})
		goOn := stopOne(ctx, wanted)

		By("another version of Kubernetes, which is refused")
		md := deployment(ctx, cluster)
		_, err = cluster.Kubectl(ctx, "--namespace", cluster.Namespace(), "patch", "machinedeployment", md.Name, "--type", "merge",
			"--patch", `{"spec":{"template":{"spec":{"version":"v1.99.0"}}}}`)
		Expect(err).To(MatchError(And(ContainSubstring("cannot be changed now: ElementalHostUpgrade "), ContainSubstring("a rollout would replace Machines meanwhile"))))

		By("one more replica")
		scale(ctx, 3)
		Eventually(running).WithContext(ctx).WithArguments(cluster).Should(HaveLen(3))
		goOn()
		Expect(cluster.AwaitImage(ctx, wanted)).To(Succeed())
		attempts, err := cluster.Attempts(ctx)
		Expect(err).NotTo(HaveOccurred())
		of := []string{}
		for i := range attempts {
			if attempts[i].Spec.ImageURI == wanted.URI() {
				of = append(of, attempts[i].Spec.HostName)
			}
		}
		Expect(of).To(ConsistOf(before[0].Node, before[1].Node), "the new Machine was made with it")
		Expect(deleted()).To(BeEmpty())

		By("one replica less in the middle of the next")
		next := push(ctx, cluster, "less", image.OS{})
		goOn = stopOne(ctx, next)
		scale(ctx, 2)
		goOn()
		Eventually(running).WithContext(ctx).WithArguments(cluster).Should(HaveLen(2))
		Expect(cluster.AwaitImage(ctx, next)).To(Succeed())
		Expect(deleted()).To(HaveLen(1))
		expectOwnersLeftAlone(cluster)
	})
})

// running are the Machines that run, and are not being deleted.
func running(ctx context.Context, cluster *scenario.Cluster) ([]string, error) {
	machines, err := cluster.Machines(ctx)
	names := []string{}
	for i := range machines {
		if machines[i].Status.Phase == string(clusterv1.MachinePhaseRunning) && machines[i].DeletionTimestamp.IsZero() {
			names = append(names, machines[i].Name)
		}
	}
	return names, err
}
