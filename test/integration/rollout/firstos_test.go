// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package rollout_test

import (
	"context"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/audit"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/double/source"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/image"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/scenario"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/suite"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/specs"
)

var _ = Describe("A host whose first OS does not boot", func() {
	const pool, rotated = "late", "rotated"

	It("becomes a node with the next good image, although others are bad, and keeps its Machine", func(ctx SpecContext) {
		cluster := suite.NewCluster(ctx, suite.StartLab(ctx, lab.Options{}), scenario.Options{Workers: 1, Spare: 1})
		bad, alsoBad := suite.Push(ctx, cluster, image.OS{Boot: source.BootUnhealthy}), suite.Push(ctx, cluster, image.OS{Boot: source.BootUnhealthy})
		good := suite.Push(ctx, cluster, image.OS{})
		addPool(ctx, cluster, pool, bad)
		host := &infrav1.ElementalHost{}
		fellBackFrom := func(os image.Image) {
			GinkgoHelper()
			Eventually(func() (*infrav1.ElementalHost, error) {
				return host, cluster.Lab.Kube.Get(ctx, client.ObjectKey{Namespace: cluster.Namespace(), Name: cluster.HostName(2)}, host)
			}).Should(And(HaveField("Status.Upgrade.Digest", os.PlatformDigest), HaveField("Status.Upgrade.Phase", infrav1.HostUpgradeRolledBack)))
		}
		fellBackFrom(bad)
		before, err := cluster.PoolMachines(ctx, pool)
		Expect(err).NotTo(HaveOccurred())
		Expect(before).To(HaveExactElements(HaveField("Status.NodeRef.Name", BeEmpty())))

		By("Cluster API by itself moves no Machine that has no Node")
		suite.PauseElementalMachine(ctx, cluster, before[0].Name, true)
		Expect(cluster.CopyTemplate(ctx, rotated)).To(Succeed())
		Expect(cluster.PatchPool(ctx, rotated, alsoBad)).To(Succeed())
		Eventually(pointTo).WithContext(ctx).WithArguments(cluster, pool, rotated).Should(Succeed())
		set := &clusterv1.MachineSet{}
		Eventually(func() (*clusterv1.MachineSet, error) {
			return set, cluster.Lab.Kube.Get(ctx, client.ObjectKey{Namespace: cluster.Namespace(), Name: before[0].Labels[clusterv1.MachineSetNameLabel]}, set)
		}).Should(HaveField("Spec.Replicas", HaveValue(BeZero())))
		Consistently(func() ([]clusterv1.Machine, error) { return cluster.PoolMachines(ctx, pool) }, calm).Should(HaveExactElements(
			HaveField("Labels", HaveKeyWithValue(clusterv1.MachineSetNameLabel, set.Name))),
			"Cluster API does not behave so any more: remove FailsFirstOS from internal/capiworkaround")

		By("with this provider the host gets the image, and Cluster API then moves its Machine")
		suite.PauseElementalMachine(ctx, cluster, before[0].Name, false)
		fellBackFrom(alsoBad)
		Expect(cluster.PatchPool(ctx, rotated, good)).To(Succeed())
		Eventually(func() ([]clusterv1.Machine, error) { return cluster.PoolMachines(ctx, pool) }, 2*specs.Patience).Should(HaveExactElements(And(
			HaveField("UID", before[0].UID), HaveField("Status.NodeRef.Name", host.Name),
			HaveField("Status.NodeInfo.OSImage", "Elemental OS "+good.Tag),
		)))
		By("the rollout comes to its end")
		Expect(cluster.AwaitRolledOut(ctx, rotated)).To(Succeed())
		Expect(cluster.AwaitPool(ctx, pool, good)).To(Succeed())

		By("rotated once more, Cluster API has the extension upgrade the node in place")
		next := suite.Push(ctx, cluster, image.OS{})
		Expect(cluster.CopyTemplate(ctx, "rotated-again")).To(Succeed())
		Expect(cluster.PatchPool(ctx, "rotated-again", next)).To(Succeed())
		Eventually(pointTo).WithContext(ctx).WithArguments(cluster, pool, "rotated-again").Should(Succeed())
		ended, err := cluster.AwaitEnd(ctx, next, infrav1.UpgradeSucceeded)
		Expect(err).NotTo(HaveOccurred())
		Expect(ended.Spec.Driver).To(Equal(infrav1.DriverClusterAPI))
		Expect(cluster.AwaitPool(ctx, pool, next)).To(Succeed())
		Expect(cluster.PoolMachines(ctx, pool)).To(HaveExactElements(HaveField("UID", before[0].UID)))
		Expect(audit.Deleted(suite.Audit(cluster.Lab.Management), "machines")).To(BeEmpty())
	})
})

// addPool creates a MachineDeployment like that of the workers, with one Machine and a template for the image, both of that name.
func addPool(ctx context.Context, cluster *scenario.Cluster, name string, os image.Image) {
	GinkgoHelper()
	Expect(cluster.CopyTemplate(ctx, name)).To(Succeed())
	Expect(cluster.PatchPool(ctx, name, os)).To(Succeed())
	of := &clusterv1.MachineDeployment{}
	Expect(cluster.Lab.Kube.Get(ctx, client.ObjectKey{Namespace: cluster.Namespace(), Name: scenario.Deployment}, of)).To(Succeed())
	made := &clusterv1.MachineDeployment{ObjectMeta: metav1.ObjectMeta{Namespace: of.Namespace, Name: name}, Spec: *of.Spec.DeepCopy()}
	made.Spec.Replicas = ptr.To[int32](1)
	made.Spec.Selector, made.Spec.Template.Labels = metav1.LabelSelector{MatchLabels: map[string]string{"pool": name}}, map[string]string{"pool": name}
	made.Spec.Template.Spec.InfrastructureRef.Name = name
	Expect(cluster.Lab.Kube.Create(ctx, made)).To(Succeed())
}
