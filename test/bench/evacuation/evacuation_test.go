// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package evacuation

import (
	"context"
	"slices"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"
	kubevirtv1 "kubevirt.io/api/core/v1"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/fleet"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/image"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/scenario"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/suite"
)

const (
	// userAgent is part of our manager's user agent; it shares its account in workload clusters with Cluster
	// API's managers.
	userAgent = " cluster-api-elemental-manager "
	// atATime is the number of concurrent migrations: on a small machine more would not be faster.
	atATime = 10
)

// pools have one node each; the virtual machines move from one to the other.
var pools = []scenario.Pool{{Name: "first", Workers: 1}, {Name: "second", Workers: 1}}

// large is the size of a node that has room for all of them.
func large() corev1.ResourceList {
	return corev1.ResourceList{
		corev1.ResourceCPU: resource.MustParse("200"), corev1.ResourceMemory: resource.MustParse("1Ti"),
		corev1.ResourceEphemeralStorage: resource.MustParse("1Ti"), corev1.ResourcePods: resource.MustParse("1500"),
	}
}

var _ = It("many virtual machines leave a node, in a small and in a large cluster", func(ctx SpecContext) {
	l := suite.StartLab(ctx, lab.Options{KubeVirt: true, NodeSize: large()})
	cluster := suite.NewCluster(ctx, l, scenario.Options{Pools: pools})
	Expect(l.KubeVirt.Configure(ctx, func(c *kubevirtv1.KubeVirtConfiguration) {
		c.MigrationConfiguration = &kubevirtv1.MigrationConfiguration{
			ParallelOutboundMigrationsPerNode: new(uint32(atATime)), ParallelMigrationsPerCluster: new(uint32(atATime)),
		}
	})).To(Succeed())
	crowd, err := cluster.CreateCrowd(ctx, "crowd", size, nodeOf(ctx, cluster, pools[0].Name))
	Expect(err).NotTo(HaveOccurred())
	alone := evacuate(ctx, cluster, crowd, pools[0].Name)

	config, err := l.Workload.RESTConfig("kubelets")
	Expect(err).NotTo(HaveOccurred())
	idle, err := fleet.NewIdle(ctx, config, scenario.KubernetesVersion, others)
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(idle.Close)
	report(alone, evacuate(ctx, cluster, crowd, pools[1].Name))
}, SpecTimeout(2*patience))

func nodeOf(ctx context.Context, cluster *scenario.Cluster, pool string) string {
	GinkgoHelper()
	machines, err := cluster.PoolMachines(ctx, pool)
	Expect(err).NotTo(HaveOccurred())
	Expect(machines).To(HaveLen(1))
	return machines[0].Status.NodeRef.Name
}

// evacuate upgrades the node of a pool, which is evacuated for that.
func evacuate(ctx context.Context, cluster *scenario.Cluster, crowd *scenario.Crowd, pool string) cost {
	GinkgoHelper()
	nodes, err := cluster.Nodes(ctx)
	Expect(err).NotTo(HaveOccurred())
	wanted := suite.Push(ctx, cluster, image.OS{})
	used, began := sample(ctx, cluster, "process_cpu_seconds_total"), time.Now()
	Expect(cluster.PatchPool(ctx, pool, wanted)).To(Succeed())
	Eventually(cluster.Attempts).WithContext(ctx).WithTimeout(patience).WithPolling(look).Should(ContainElement(And(
		HaveField("Spec.ImageURI", wanted.URI()), HaveField("Status.Phase", infrav1.UpgradeSucceeded))))
	spent := cost{
		Nodes: len(nodes) - 1, Seconds: time.Since(began).Seconds(), CPU: sample(ctx, cluster, "process_cpu_seconds_total") - used,
		Calls: scenario.Calls(ours(suite.Audit(cluster.Workload())), cluster.Lab.WorkloadUser(), began),
	}
	Expect(crowd.Running(ctx)).To(Equal(crowd.Instances), "none restarts")
	spent.Moved, err = crowd.Moves(ctx, wanted)
	Expect(err).NotTo(HaveOccurred())
	Expect(spent.Moved).To(Equal(size))
	total := 0
	for _, count := range spent.Calls {
		total += count
	}
	Expect(total).To(BeNumerically(">=", size), "each virtual machine is asked to move by a call of its own")
	spent.PerMachine = float64(total) / float64(spent.Moved)
	return spent
}

// ours are the calls of our manager.
func ours(events []auditv1.Event) []auditv1.Event {
	return slices.DeleteFunc(events, func(event auditv1.Event) bool { return !strings.Contains(event.UserAgent, userAgent) })
}

func sample(ctx context.Context, cluster *scenario.Cluster, name string) float64 {
	GinkgoHelper()
	samples, err := cluster.Lab.Metrics(ctx)
	Expect(err).NotTo(HaveOccurred())
	Expect(samples).To(HaveKey(name))
	return samples[name]
}
