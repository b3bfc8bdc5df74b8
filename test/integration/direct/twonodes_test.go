// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package direct_test

import (
	"context"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	bootstrapv1 "sigs.k8s.io/cluster-api/api/bootstrap/kubeadm/v1beta2"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/audit"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/double/source"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/image"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/scenario"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/suite"
)

// waitsForConsent asserts that the attempt for an image waits for consent to the loss of the API, and that its node is left alone.
func waitsForConsent(ctx context.Context, cluster *scenario.Cluster, wanted image.Image, of scenario.Identity) {
	GinkgoHelper()
	attempt, err := cluster.AwaitMessage(ctx, wanted, "Admit", "loses its API while Node "+of.Node+" is down")
	Expect(err).NotTo(HaveOccurred())
	Expect(attempt.Status.Message).To(ContainSubstring("Set nodeUpgradeOption.allowQuorumLoss in ElementalCluster " + cluster.Options.Name))
	Consistently(func(ctx context.Context) (scenario.Marks, error) {
		marks, err := cluster.Marks(ctx, of)
		marks.Slots, marks.Asked = 0, false // others may have them, and its host may fetch the image
		return marks, err
	}, calm).WithContext(ctx).Should(Equal(scenario.Clean))
}

// countTriggers of each host so far.
func countTriggers() map[string]int {
	GinkgoHelper()
	found := map[string]int{}
	for host, times := range audit.Triggered(suite.Audit(theLab.Management)) {
		found[host] = len(times)
	}
	return found
}

var _ = Describe("A KubeadmControlPlane of one with a single worker", Ordered, func() {
	var (
		cluster         *scenario.Cluster
		plane, worker   scenario.Identity
		before          []scenario.Identity
		allowQuorumLoss = func(ctx context.Context, option string) {
			GinkgoHelper()
			Expect(cluster.PatchUpgradeOption(ctx, `{"allowQuorumLoss":`+option+`}`)).To(Succeed())
		}
	)
	BeforeAll(func(ctx SpecContext) {
		workload, err := theLab.StartWorkload(ctx, "pair")
		Expect(err).NotTo(HaveOccurred())
		cluster = suite.NewCluster(ctx, theLab, scenario.Options{Name: "pair", Workload: workload, ControlPlane: 1, ControlPlaneMaxSurge: 1, Workers: 1})
		before, err = cluster.Identities(ctx)
		Expect(err).NotTo(HaveOccurred())
		for _, identity := range before {
			if identity.Node == cluster.ControlPlaneHostName(1) {
				plane = identity
			} else {
				worker = identity
			}
		}
		Expect(cluster.WorkloadKube().Create(ctx, suite.Web(2))).To(Succeed())
	})
	AfterEach(func(ctx SpecContext) { Expect(cluster.Identities(ctx)).To(Equal(before)) })

	It("waits for consent without keeping its worker, and is cordoned and drained as there is another Node", func(ctx SpecContext) {
		wanted := suite.Push(ctx, cluster, image.OS{})
		Expect(cluster.PatchControlPlaneImage(ctx, wanted)).To(Succeed())
		waitsForConsent(ctx, cluster, wanted, plane)
		forWorker := suite.Push(ctx, cluster, image.OS{})
		Expect(cluster.PatchImage(ctx, forWorker)).To(Succeed())
		Expect(cluster.AwaitImage(ctx, forWorker)).To(Succeed())
		Expect(countTriggers()).NotTo(HaveKey(plane.Node))

		allowQuorumLoss(ctx, "true")
		Expect(cluster.AwaitControlPlaneImage(ctx, wanted)).To(Succeed())
		cordoned := audit.Cordons(suite.Audit(cluster.Workload()))
		Expect(cordoned).To(And(HaveKey(plane.Node), HaveKey(worker.Node)))
		Expect(audit.MaxOverlap(cordoned)).To(Equal(1))
	})

	It("waits again once the consent is withdrawn", func(ctx SpecContext) {
		triggered := countTriggers()
		allowQuorumLoss(ctx, "false")
		wanted := suite.Push(ctx, cluster, image.OS{})
		Expect(cluster.PatchControlPlaneImage(ctx, wanted)).To(Succeed())
		waitsForConsent(ctx, cluster, wanted, plane)
		Expect(countTriggers()).To(Equal(triggered))
	})
})

// Its provider is played: see the other specs of a K3s control plane.
var _ = Describe("A K3s control plane of two, and no other Node", Ordered, func() {
	const template = scenario.Template
	var (
		cluster *scenario.Cluster
		before  []scenario.Identity
	)
	BeforeAll(func(ctx SpecContext) {
		cluster = newPlayed(ctx, "duo", "cp-1", "cp-2")
		var err error
		before, err = cluster.Identities(ctx)
		Expect(err).NotTo(HaveOccurred())
		Expect(before).To(HaveLen(2))
	})
	AfterEach(func(ctx SpecContext) { Expect(cluster.Identities(ctx)).To(Equal(before)) })

	It("is not touched without consent, goes on with it, and stops between the two when it is withdrawn", func(ctx SpecContext) {
		planes := byNode(ctx, cluster, []string{"cp-1", "cp-2"})
		first, second := identityOf(ctx, cluster, planes[0]), identityOf(ctx, cluster, planes[1])
		wanted := suite.Push(ctx, cluster, image.OS{})
		Expect(cluster.PatchPool(ctx, template, wanted)).To(Succeed())
		waitsForConsent(ctx, cluster, wanted, first)
		Expect(countTriggers()).NotTo(Or(HaveKey(first.Node), HaveKey(second.Node)))

		By("giving consent until the first has begun")
		held := suite.HoldHost(theLab.Host(first.Node), infrav1.HostUpgradeApplying)
		Expect(cluster.PatchUpgradeOption(ctx, `{"allowQuorumLoss":true}`)).To(Succeed())
		Eventually(held.Came(string(infrav1.HostUpgradeApplying))).WithContext(ctx).Should(BeClosed())
		Expect(cluster.PatchUpgradeOption(ctx, `{"allowQuorumLoss":false}`)).To(Succeed())
		held.Release(string(infrav1.HostUpgradeApplying))
		_, err := cluster.AwaitEnd(ctx, wanted, infrav1.UpgradeSucceeded)
		Expect(err).NotTo(HaveOccurred())
		waitsForConsent(ctx, cluster, wanted, second)

		By("giving it again")
		Expect(cluster.PatchUpgradeOption(ctx, `{"allowQuorumLoss":true}`)).To(Succeed())
		Expect(cluster.AwaitRolledOut(ctx, template)).To(Succeed())
		cordoned := audit.Cordons(suite.Audit(cluster.Workload()))
		Expect(cordoned).To(And(HaveKey(first.Node), HaveKey(second.Node)), "each has another Node to be drained to")
		Expect(audit.MaxOverlap(cordoned)).To(Equal(1))
		Expect(countTriggers()).To(And(HaveKeyWithValue(first.Node, 1), HaveKeyWithValue(second.Node, 1)))
	})

	It("stops at a bad image on the first, and continues with the next good one", func(ctx SpecContext) {
		second := identityOf(ctx, cluster, byNode(ctx, cluster, []string{"cp-1", "cp-2"})[1])
		triggered := countTriggers()
		fallBackAndFix(ctx, cluster, template, func() {
			Expect(countTriggers()[second.Node]).To(Equal(triggered[second.Node]), "the other is not touched")
		})
	})
})

var _ = Describe("A K3s control plane of one, and no other Node", Ordered, func() {
	const template = scenario.Template
	var (
		cluster *scenario.Cluster
		before  []scenario.Identity
	)
	BeforeAll(func(ctx SpecContext) {
		cluster = newPlayed(ctx, "solo", "cp-1")
		var err error
		before, err = cluster.Identities(ctx)
		Expect(err).NotTo(HaveOccurred())
	})
	AfterEach(func(ctx SpecContext) {
		Expect(cluster.Identities(ctx)).To(Equal(before))
		Expect(audit.Cordons(suite.Audit(cluster.Workload()))).To(BeEmpty(), "the only Node of a cluster is not cordoned")
	})

	It("is not touched without consent, and upgraded with it", func(ctx SpecContext) {
		wanted := suite.Push(ctx, cluster, image.OS{})
		Expect(cluster.PatchPool(ctx, template, wanted)).To(Succeed())
		waitsForConsent(ctx, cluster, wanted, before[0])
		Expect(cluster.PatchUpgradeOption(ctx, `{"allowQuorumLoss":true}`)).To(Succeed())
		Expect(cluster.AwaitRolledOut(ctx, template)).To(Succeed())
	})

	It("falls back from a bad image, stops, and continues with the next good one", func(ctx SpecContext) {
		fallBackAndFix(ctx, cluster, template, func() {})
	})

	It("is not pointed to a template by hand", func(ctx SpecContext) {
		_, err := cluster.Kubectl(ctx, "--namespace", cluster.Namespace(), "patch", "labcontrolplane", cluster.Options.Name, "--type", "merge", "--patch",
			`{"spec":{"machineTemplate":{"infrastructureRef":{"apiVersion":"`+infrav1.GroupVersion.String()+`","kind":"ElementalMachineTemplate","name":"another"}}}}`)
		Expect(err).To(MatchError(ContainSubstring("the Machines of LabControlPlane solo would be replaced and their hosts reset")))
	})
})

// fallBackAndFix rolls out a bad image, asserts that the rollout stops and what the check does, and rolls out a good one.
func fallBackAndFix(ctx context.Context, cluster *scenario.Cluster, template string, check func()) {
	GinkgoHelper()
	bad := suite.Push(ctx, cluster, image.OS{Boot: source.BootUnhealthy})
	Expect(cluster.PatchPool(ctx, template, bad)).To(Succeed())
	_, err := cluster.AwaitEnd(ctx, bad, infrav1.UpgradeRolledBack)
	Expect(err).NotTo(HaveOccurred())
	Eventually(says).WithContext(ctx).WithArguments(cluster, template, infrav1.RolloutBlockedCondition).
		Should(Equal(said{"True", infrav1.AttemptNotSucceededReason}))
	check()
	Expect(cluster.PatchPool(ctx, template, suite.Push(ctx, cluster, image.OS{}))).To(Succeed())
	Expect(cluster.AwaitRolledOut(ctx, template)).To(Succeed())
}

// newPlayed is a cluster of nothing but Machines of a played K3s control plane.
func newPlayed(ctx context.Context, name string, machines ...string) *scenario.Cluster {
	GinkgoHelper()
	workload, err := theLab.StartWorkload(ctx, name)
	Expect(err).NotTo(HaveOccurred())
	cluster := suite.NewCluster(ctx, theLab, scenario.Options{
		Name: name, Workload: workload, Pools: []scenario.Pool{{Name: scenario.Deployment}}, Spare: len(machines),
	})
	for _, machine := range machines {
		createBootstrapped(ctx, cluster, machine, scenario.Template)
	}
	Eventually(cluster.Identities).WithContext(ctx).Should(And(HaveLen(len(machines)), HaveEach(HaveField("Node", Not(BeEmpty())))))
	for _, machine := range machines {
		promote(ctx, cluster, machine)
	}
	Expect(cluster.AwaitRolledOut(ctx, scenario.Template)).To(Succeed())
	return cluster
}

// identityOf a Machine.
func identityOf(ctx context.Context, cluster *scenario.Cluster, machine string) scenario.Identity {
	GinkgoHelper()
	found, err := cluster.Identity(ctx, machine)
	Expect(err).NotTo(HaveOccurred())
	return found
}

// createBootstrapped makes a Machine with its ElementalMachine, and a KubeadmConfig by which it joins.
func createBootstrapped(ctx context.Context, cluster *scenario.Cluster, name, template string) {
	GinkgoHelper()
	config := &bootstrapv1.KubeadmConfig{ObjectMeta: metav1.ObjectMeta{
		Namespace: cluster.Namespace(), Name: name, Labels: map[string]string{clusterv1.ClusterNameLabel: cluster.Options.Name},
	}}
	Expect(theLab.Kube.Create(ctx, config)).To(Succeed())
	Expect(cluster.CreateMachineWith(ctx, name, template, nil, clusterv1.Bootstrap{ConfigRef: clusterv1.ContractVersionedObjectReference{
		APIGroup: bootstrapv1.GroupVersion.Group, Kind: "KubeadmConfig", Name: name,
	}})).To(Succeed())
}

// promote a Machine that has joined to the control plane.
func promote(ctx context.Context, cluster *scenario.Cluster, name string) {
	GinkgoHelper()
	machine := &clusterv1.Machine{}
	Expect(theLab.Kube.Get(ctx, client.ObjectKey{Namespace: cluster.Namespace(), Name: name}, machine)).To(Succeed())
	controller, err := cluster.ControlPlaneStandIn(ctx)
	Expect(err).NotTo(HaveOccurred())
	joined := machine.DeepCopy()
	machine.Labels[clusterv1.MachineControlPlaneLabel] = ""
	machine.OwnerReferences = []metav1.OwnerReference{*controller}
	Expect(theLab.Kube.Patch(ctx, machine, client.MergeFrom(joined))).To(Succeed())
	Expect(machine.Status.NodeRef.Name).NotTo(BeEmpty())
}
