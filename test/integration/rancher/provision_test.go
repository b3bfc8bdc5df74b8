// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package rancher_test

import (
	"context"
	"slices"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/audit"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/rancher"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/scenario"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/suite"
)

var _ = Describe("A cluster of Rancher with one control plane and two workers", Ordered, func() {
	var (
		cluster *scenario.Cluster
		before  []scenario.Identity
	)
	BeforeAll(func(ctx SpecContext) {
		cluster = suite.NewCluster(ctx, theLab, scenario.Options{
			Namespace: rancher.Namespace, Rancher: true, ControlPlane: 1, Workers: 2,
			DrainOptions: rancher.DrainOptions{Enabled: true, GracePeriod: -1},
		})
		var err error
		before, err = cluster.Identities(ctx)
		Expect(err).NotTo(HaveOccurred())
	})
	AfterEach(func(ctx SpecContext) {
		Expect(cluster.Identities(ctx)).To(Equal(before), "every Machine, Node name and provider ID is the same")
	})

	It("comes up as pools of Machines whose nodes Cluster API does not drain", func(ctx SpecContext) {
		Expect(before).To(HaveLen(3))
		Expect(cluster.PoolMachines(ctx, scenario.Deployment)).To(HaveLen(2))
		machines, err := cluster.ControlPlaneMachines(ctx)
		Expect(err).NotTo(HaveOccurred())
		Expect(machines).To(ConsistOf(And(
			HaveField("Labels", And(HaveKey(rancher.EtcdLabel), HaveKey(clusterv1.MachineDeploymentNameLabel))),
			HaveField("Annotations", HaveKey(clusterv1.ExcludeNodeDrainingAnnotation)),
			HaveField("Spec.Version", BeEmpty()),
		)))
		secret, err := cluster.PlanSecret(ctx, &machines[0])
		Expect(err).NotTo(HaveOccurred())
		Expect(secret.Type).To(Equal(rancher.PlanSecretType))
		Expect(secret.Labels).To(And(HaveKeyWithValue(rancher.MachineNameLabel, machines[0].Name), HaveKey(rancher.InitNodeLabel)))
	})

	It("is drained node by node, control plane first, when its generation is raised", func(ctx SpecContext) {
		createWeb(ctx, cluster)
		Eventually(podsOf).WithContext(ctx).WithArguments(cluster).Should(HaveLen(4))
		running, err := podsOf(ctx, cluster)
		Expect(err).NotTo(HaveOccurred())
		placed := &corev1.PodList{}
		Expect(cluster.WorkloadKube().List(ctx, placed, client.MatchingLabels(suite.Web(0).Labels))).To(Succeed())
		began := time.Now()
		_, err = theLab.Rancher.RaiseProvisionGeneration(ctx, cluster.RancherKey())
		Expect(err).NotTo(HaveOccurred())
		Expect(cluster.AwaitRancher(ctx)).To(Succeed())

		events := slices.DeleteFunc(suite.Audit(cluster.Workload()), func(event auditv1.Event) bool { return event.StageTimestamp.Time.Before(began) })
		cordons := audit.Cordons(events)
		Expect(cordons).To(HaveLen(3), "every node was cordoned")
		Expect(audit.MaxOverlap(cordons)).To(Equal(1), "one node at a time")
		for _, identity := range before {
			plane := cordons[cluster.ControlPlaneHostName(1)][0].From
			Expect(cordons[identity.Node][0].From).To(BeTemporally(">=", plane), "the control plane is the first")
		}
		Expect(audit.Evictions(events)).To(And(Not(BeEmpty()), HaveEach(HaveField("User", rancher.User))), "cordons %v, Pods before %v", cordons, placed.Items)
		Eventually(podsOf).WithContext(ctx).WithArguments(cluster).Should(And(HaveLen(4), Not(ContainElements(running))), "Pods have moved")
	})
})

// podsOf lists the Pods of Web that run.
func podsOf(ctx context.Context, cluster *scenario.Cluster) ([]string, error) {
	pods := &corev1.PodList{}
	err := cluster.WorkloadKube().List(ctx, pods, client.MatchingLabels(suite.Web(0).Labels))
	found := []string{}
	for i := range pods.Items {
		if pods.Items[i].Status.Phase == corev1.PodRunning && pods.Items[i].DeletionTimestamp.IsZero() {
			found = append(found, pods.Items[i].Name)
		}
	}
	return found, err
}
