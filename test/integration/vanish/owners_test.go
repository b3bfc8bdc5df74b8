// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package vanish_test

import (
	"context"
	"fmt"
	"slices"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"
	bootstrapv1 "sigs.k8s.io/cluster-api/api/bootstrap/kubeadm/v1beta2"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/audit"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/scenario"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/suite"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/specs"
)

// Ordered, because each spec deletes from the cluster what the next does not need.
var _ = Describe("A pool in the middle of an upgrade", Ordered, func() {
	var pool *scenario.Cluster
	BeforeAll(func(ctx SpecContext) {
		pool = suite.NewCluster(ctx, theLab, scenario.Options{Name: "pool", Workers: 3})
	})

	DescribeTable("is scaled down", func(ctx SpecContext, to int) {
		u := start(ctx, pool, draining)
		scale(ctx, pool, to)
		Eventually(u.Machines).WithContext(ctx).Should(
			Or(HaveLen(to), ContainElement(HaveField("DeletionTimestamp", Not(BeNil()))), HaveLen(to+1)))
		Consistently(slots, calm).WithContext(ctx).WithArguments(pool).Should(Or(BeEmpty(), HaveLen(1)), "one node at a time is upgraded, also where the first to be deleted was it")
		u.release(ctx)
		Eventually(u.Machines, 2*specs.Patience, look).WithContext(ctx).Should(HaveLen(to))
		Expect(pool.AwaitWorkers(ctx)).To(Succeed())
		Expect(pool.AwaitImage(ctx, u.wanted)).To(Succeed())
		expectNoTraces(ctx, pool)
		Expect(audit.MaxOverlap(audit.Triggered(u.auditSince()))).To(BeNumerically("<=", 1), "one host at a time is told to go")
	},
		Entry("from 3 to 2", 2),
		Entry("from 2 to 1", 1),
	)

	It("loses its MachineDeployment", func(ctx SpecContext) {
		u := start(ctx, pool, draining)
		u.kubectl(ctx, "delete", "machinedeployment", scenario.Deployment, "--wait=false")
		Eventually(u.now).WithContext(ctx).Should(Or(BeNil(), HaveField("Status.CompletionTime", Not(BeNil()))))
		u.expectUntouched()
		u.release(ctx)
		resize(pool, 0)
		expectGone(ctx, pool, &clusterv1.MachineDeploymentList{}, &clusterv1.MachineSetList{}, &clusterv1.MachineList{},
			&infrav1.ElementalMachineList{}, &bootstrapv1.KubeadmConfigList{})
		expectNoTraces(ctx, pool)
		Expect(u.resets()).To(Equal(1))
	})

	DescribeTable("loses its Cluster", func(ctx SpecContext, at stage, writes int) {
		resize(pool, 1)
		Expect(pool.Recreate(ctx)).To(Succeed())
		u := start(ctx, pool, at)
		u.kubectl(ctx, "delete", "cluster", pool.Options.Name, "--wait=false")
		u.goOn()
		resize(pool, 0)
		expectGone(ctx, pool, &clusterv1.ClusterList{}, &clusterv1.MachineDeploymentList{}, &clusterv1.MachineSetList{}, &clusterv1.MachineList{},
			&infrav1.ElementalClusterList{}, &infrav1.ElementalMachineList{}, &infrav1.ElementalMachineTemplateList{}, &infrav1.ElementalRolloutList{}, &bootstrapv1.KubeadmConfigList{})
		// In a real cluster the workload cluster would be deleted as well.
		Expect(client.IgnoreNotFound(pool.WorkloadKube().Delete(ctx, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: u.attempt.Status.NodeName}}))).To(Succeed())
		expectNoTraces(ctx, pool)
		Expect(u.writes()).To(Equal(writes), "what was begun is brought to its end, and nothing else is begun")
		Expect(u.resets()).To(Equal(1))
	},
		Entry("before the trigger", draining, 0),
		Entry("while the image is written", applying, 1),
	)
})

// scale changes the replicas of the pool, and the expectation.
func scale(ctx context.Context, cluster *scenario.Cluster, to int) {
	GinkgoHelper()
	_, err := cluster.Kubectl(ctx, "--namespace", cluster.Namespace(), "scale", "machinedeployment", scenario.Deployment, fmt.Sprintf("--replicas=%d", to))
	Expect(err).NotTo(HaveOccurred())
	resize(cluster, to)
}

// resize sets how many of the hosts are expected to be in use.
func resize(cluster *scenario.Cluster, workers int) {
	hosts := cluster.Options.Workers + cluster.Options.Spare
	cluster.Options.Workers, cluster.Options.Spare = workers, hosts-workers
	cluster.Options.Pools = []scenario.Pool{{Name: scenario.Deployment, Workers: workers}}
}

// expectGone waits until no object of the kinds is left in the cluster's namespace.
func expectGone(ctx context.Context, cluster *scenario.Cluster, kinds ...client.ObjectList) {
	GinkgoHelper()
	for _, kind := range kinds {
		Eventually(func(ctx context.Context) (client.ObjectList, error) {
			return kind, theLab.Kube.List(ctx, kind, client.InNamespace(cluster.Namespace()))
		}, 2*specs.Patience, look).WithContext(ctx).Should(HaveField("Items", BeEmpty()), "%T", kind)
	}
}

// auditSince is the management cluster's audit log since the upgrade began.
func (u *upgrade) auditSince() []auditv1.Event {
	GinkgoHelper()
	return slices.DeleteFunc(suite.Audit(theLab.Management), func(event auditv1.Event) bool {
		return event.StageTimestamp.Time.Before(u.began)
	})
}
