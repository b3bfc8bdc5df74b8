// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package nodes

import (
	"context"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/audit"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/scenario"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/suite"
)

// failingUnit is an image with a unit that fails at each boot.
var failingUnit = osFiles{
	"usr/lib/systemd/system/broken.service":                     "[Service]\nType=oneshot\nExecStart=/bin/false\n",
	"etc/systemd/system/multi-user.target.wants/broken.service": "->/usr/lib/systemd/system/broken.service",
}

var _ = Describe("A real node", Ordered, func() {
	var (
		web    *appsv1.Deployment
		before []scenario.Identity
		node   string
	)

	BeforeAll(func(ctx SpecContext) {
		var err error
		before, err = cluster.Identities(ctx)
		Expect(err).NotTo(HaveOccurred())
		node = before[0].Node
		web = suite.Web(2)
		Expect(theLab.WorkloadKube.Create(ctx, web)).To(Succeed())
		budget := &policyv1.PodDisruptionBudget{ObjectMeta: metav1.ObjectMeta{Namespace: web.Namespace, Name: web.Name}, Spec: policyv1.PodDisruptionBudgetSpec{
			Selector: web.Spec.Selector, MinAvailable: ptr.To(intstr.FromInt32(0)),
		}}
		Expect(theLab.WorkloadKube.Create(ctx, budget)).To(Succeed())
		Eventually(readyPods).WithContext(ctx).WithArguments(web).Should(BeEquivalentTo(2), "containers run")
	})

	It("is cordoned, drained, rebooted into the other root file system, assessed and uncordoned", func(ctx SpecContext) {
		boots, bootID := allBoots(), readNode(ctx, node).Status.NodeInfo.BootID
		good := push(ctx, theLab.Registry, "v2", nil)
		Expect(cluster.PatchImage(ctx, good)).To(Succeed())
		Expect(cluster.AwaitImage(ctx, good)).To(Succeed())
		Expect(allBoots()-boots).To(BeEquivalentTo(len(hosts)), "one reboot each")
		events := suite.Audit(theLab.Workload)
		Expect(audit.Cordons(events)).To(HaveKeyWithValue(node, HaveLen(1)))
		Expect(audit.MaxOverlap(audit.Cordons(events))).To(Equal(1), "one node at a time")
		Expect(audit.Evictions(events)).NotTo(BeEmpty())
		Eventually(readyPods).WithContext(ctx).WithArguments(web).Should(BeEquivalentTo(2), "containers run again")
		after := readNode(ctx, node)
		Expect(after.Status.NodeInfo.OSImage).To(Equal("v2"))
		Expect(after.Status.NodeInfo.BootID).NotTo(Equal(bootID))
		Expect(after.Spec.Unschedulable).To(BeFalse())
		Expect(cluster.Identities(ctx)).To(Equal(before))
	})

	DescribeTable("falls back from an image", func(ctx SpecContext, version string, files osFiles) {
		boots := allBoots()
		bad := push(ctx, theLab.Registry, version, files)
		Expect(cluster.PatchImage(ctx, bad)).To(Succeed())
		attempt, err := cluster.AwaitEnd(ctx, bad, infrav1.UpgradeRolledBack)
		Expect(err).NotTo(HaveOccurred())
		GinkgoWriter.Println(attempt.Status.Message)
		Expect(allBoots()-boots).To(BeEquivalentTo(2), "one host there and back, and no other")
		Eventually(readNode).WithContext(ctx).WithArguments(node).Should(And(
			HaveField("Status.NodeInfo.OSImage", "v2"), HaveField("Spec.Unschedulable", false)))
		Eventually(readyPods).WithContext(ctx).WithArguments(web).Should(BeEquivalentTo(2), "containers run again")
		Expect(cluster.Identities(ctx)).To(Equal(before))
	},
		Entry("with a unit that fails", "v3-unit", failingUnit),
	)
})

// allBoots of all hosts.
func allBoots() int32 {
	sum := int32(0)
	for _, each := range hosts {
		sum += each.boots.Load()
	}
	return sum
}

func readNode(ctx context.Context, name string) *corev1.Node {
	GinkgoHelper()
	node := &corev1.Node{}
	Expect(theLab.WorkloadKube.Get(ctx, client.ObjectKey{Name: name}, node)).To(Succeed())
	return node
}

func readyPods(ctx context.Context, of *appsv1.Deployment) (int32, error) {
	read := &appsv1.Deployment{}
	err := theLab.WorkloadKube.Get(ctx, client.ObjectKeyFromObject(of), read)
	return read.Status.ReadyReplicas, err
}
