// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package nodes

import (
	"context"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/audit"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/image"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/scenario"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/suite"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/nspawn"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/osimage"
)

var _ = Describe("Real nodes", Ordered, func() {
	var (
		web, stubborn          *appsv1.Deployment
		records                *appsv1.DaemonSet
		stubborns, recordsSeen *podHistory
		before                 []scenario.Identity
		good                   image.Image
		bootIDs                map[string]string
	)

	BeforeAll(func(ctx SpecContext) {
		var err error
		before, err = cluster.Identities(ctx)
		Expect(err).NotTo(HaveOccurred())
		web, stubborn, records = spreadWeb(ctx), stubbornOn(ctx, hosts[len(hosts)-1].Name), recorder(ctx)
		awaitWorkloads(ctx, web, stubborn, records)
		stubborns, recordsSeen = followPods(ctx, "stubborn"), followPods(ctx, "recorder")
		bootIDs = map[string]string{}
		for _, each := range hosts {
			bootIDs[each.Name] = readNode(ctx, each.Name).Status.NodeInfo.BootID
		}
		good = setup.Push(ctx, "v2", nil)
	})

	It("are not drained as long as a PodDisruptionBudget forbids it", func(ctx SpecContext) {
		Expect(cluster.PatchImage(ctx, good)).To(Succeed())
		_, err := cluster.AwaitMessage(ctx, good, "Drain", "PodDisruptionBudget default/web allows no eviction")
		Expect(err).NotTo(HaveOccurred())
		Expect(audit.RefusedEvictions(suite.Audit(theLab.Workload))).NotTo(BeEmpty())
		triggered := audit.Triggered(suite.Audit(theLab.Management))
		for _, each := range hosts {
			Expect(triggered).NotTo(HaveKey(each.Name))
		}
		Expect(readyPods(ctx, web)).To(BeEquivalentTo(len(hosts)))
	})

	It("are cordoned, drained, rebooted into the other root file system, assessed and uncordoned, one after the other", func(ctx SpecContext) {
		patch := client.MergeFrom(web.DeepCopy())
		web.Spec.Replicas = ptr.To(int32(len(hosts) + 1))
		Expect(theLab.WorkloadKube.Patch(ctx, web, patch)).To(Succeed())
		Expect(cluster.AwaitImage(ctx, good)).To(Succeed())
		awaitWorkloads(ctx, web, stubborn, records)

		cordons := audit.Cordons(suite.Audit(theLab.Workload))
		Expect(audit.MaxOverlap(cordons)).To(Equal(1), "one node at a time")
		for _, each := range hosts {
			Expect(each.Boots.Load()).To(BeEquivalentTo(3), "installation, bootstrap, upgrade")
			after := readNode(ctx, each.Name)
			Expect(after.Status.NodeInfo.OSImage).To(Equal("v2"))
			Expect(after.Status.NodeInfo.BootID).NotTo(Equal(bootIDs[each.Name]))
			Expect(after.Spec.Unschedulable).To(BeFalse())
			Expect(cordons[each.Name]).To(HaveLen(1), each.Name)
		}
		Expect(audit.Budgets(suite.Audit(theLab.Workload))).To(HaveKeyWithValue("default/web", HaveField("Minimum", BeEquivalentTo(len(hosts)))))
		Expect(cluster.Identities(ctx)).To(Equal(before))
	})

	It("are rebooted once a Pod that ignores SIGTERM has been killed after its grace period", func() {
		node := hosts[len(hosts)-1].Name
		_, gone := stubborns.on(node)
		Expect(gone).To(HaveLen(1))
		Expect(gone[0].Status.ContainerStatuses).To(HaveExactElements(HaveField("State.Terminated.ExitCode", BeEquivalentTo(killed))))
		deleted := deletedAt(&gone[0])
		Expect(deleted).To(BeTemporally(">=", gone[0].DeletionTimestamp.Time), "the end of the grace period")
		triggered := audit.Triggered(suite.Audit(theLab.Management))[node]
		Expect(triggered).To(HaveLen(1))
		GinkgoWriter.Println("deleted", deleted, "triggered", triggered[0].From)
		Expect(triggered[0].From).To(BeTemporally(">", deleted))
	})

	// The kubelet may not have told the API server of the end of a Pod when it is ended itself. The DaemonSet then has the same Pod again, and
	// another one otherwise.
	It("keep hostPath volumes, shut their Pods down, and are uncordoned once the Pods of DaemonSets are Ready", func(ctx SpecContext) {
		cordons, triggered := audit.Cordons(suite.Audit(theLab.Workload)), audit.Triggered(suite.Audit(theLab.Management))
		for _, each := range hosts {
			there, _ := recordsSeen.on(each.Name)
			Expect(there).To(HaveLen(1))
			Expect(record(ctx, &there[0])).To(Equal([]string{"started", "ended"}), "of the boot before")
			ready, uncordoned := readySince(&there[0]), cordons[each.Name][0].To
			GinkgoWriter.Println(each.Name, "triggered", triggered[each.Name][0].From, "ready", ready, "uncordoned", uncordoned)
			Expect(ready).To(And(BeTemporally(">", triggered[each.Name][0].From), BeTemporally("<=", uncordoned)))
		}
	})

	It("run the Job of a gate, whose log is in the status of the ElementalClusterUpgrade when it fails", func(ctx SpecContext) {
		gate := func(image string) string {
			return `{"name": "smoke", "job": {"image": "` + image + `", "args": ["ready"], "timeoutSeconds": 120, "retryIntervalSeconds": 10}}`
		}
		Expect(cluster.CreateGates(ctx)).To(Succeed())
		Expect(cluster.ApplyUpgrade(ctx, "gated", good, scenario.Gates+"  - "+gate(recorderImage))).To(Succeed())
		Eventually(cluster.Upgrade).WithContext(ctx).WithArguments("gated").Should(HaveField("Status.Message",
			ContainSubstring("the end of its log: open /record/file: no such file or directory; it is run again at ")))
		_, err := cluster.Kubectl(ctx, "--namespace", cluster.Namespace(), "patch", "ecu", "gated", "--type", "merge", "--patch",
			`{"spec": {"gates": [`+gate(webImage)+`]}}`)
		Expect(err).NotTo(HaveOccurred())
		Eventually(cluster.Upgrade).WithContext(ctx).WithArguments("gated").Should(HaveField("Status.Phase", infrav1.ClusterUpgradeSucceeded))
	})

	DescribeTable("fall back from an image", func(ctx SpecContext, version string, files osimage.Files, why string) {
		boots := allBoots()
		bad := setup.Push(ctx, version, files)
		Expect(cluster.PatchImage(ctx, bad)).To(Succeed())
		attempt, err := cluster.AwaitEnd(ctx, bad, infrav1.UpgradeRolledBack)
		Expect(err).NotTo(HaveOccurred())
		Expect(attempt.Status.Message).To(ContainSubstring(why))
		Expect(allBoots()-boots).To(BeEquivalentTo(2), "one host there and back, and no other")
		for _, each := range hosts {
			Eventually(readNode).WithContext(ctx).WithArguments(each.Name).Should(And(
				HaveField("Status.NodeInfo.OSImage", "v2"), HaveField("Spec.Unschedulable", false)))
		}
		awaitWorkloads(ctx, web, stubborn, records)
		Expect(cluster.Identities(ctx)).To(Equal(before))
	},
		Entry("with a unit that fails", "v3-unit", nspawn.FailingUnit, "units failed that had not failed before: broken.service"),
		Entry("whose kubelet does not start", "v4-kubelet", endingKubelet, "kubelet"),
		Entry("without a network", "v5-network", withoutNetwork, "the host has no default route, and had one before"),
	)
})

// awaitWorkloads waits until all containers run.
func awaitWorkloads(ctx context.Context, web, stubborn *appsv1.Deployment, records *appsv1.DaemonSet) {
	GinkgoHelper()
	for of, want := range map[client.Object]int32{web: *web.Spec.Replicas, stubborn: 1, records: int32(len(hosts))} {
		Eventually(readyPods).WithContext(ctx).WithArguments(of).Should(Equal(want), of.GetName())
	}
}

// record is what a Pod found in its hostPath volume.
func record(ctx context.Context, pod *corev1.Pod) ([]string, error) {
	said, err := theLab.WorkloadKubectl(ctx, "logs", "--namespace", pod.Namespace, pod.Name)
	return strings.Fields(said), err
}

// allBoots of all hosts.
func allBoots() int32 {
	sum := int32(0)
	for _, each := range hosts {
		sum += each.Boots.Load()
	}
	return sum
}

func readNode(ctx context.Context, name string) *corev1.Node {
	GinkgoHelper()
	node := &corev1.Node{}
	Expect(theLab.WorkloadKube.Get(ctx, client.ObjectKey{Name: name}, node)).To(Succeed())
	return node
}
