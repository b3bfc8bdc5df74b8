// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package vms_test

import (
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	kubevirtv1 "kubevirt.io/api/core/v1"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/image"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/scenario"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/suite"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/specs"
)

const (
	// size of the crowd, and the limit of API calls of an evacuation for each virtual machine.
	size, perMachine = 500, 6
	patience         = 40 * time.Minute
	look             = time.Second
)

// theLab is nil until it has started.
var theLab *lab.Lab

func TestVMs(t *testing.T) {
	specs.Run(t, "Many Virtual Machines")
}

var _ = Describe("500 virtual machines on a node", func() {
	It("are migrated with few API calls for each, and none restarts", func(ctx SpecContext) {
		theLab = suite.StartLab(ctx, lab.Options{KubeVirt: true, NodeSize: corev1.ResourceList{
			corev1.ResourceCPU: resource.MustParse("200"), corev1.ResourceMemory: resource.MustParse("1Ti"),
			corev1.ResourceEphemeralStorage: resource.MustParse("1Ti"), corev1.ResourcePods: resource.MustParse("1500"),
		}})
		cluster := suite.NewCluster(ctx, theLab, scenario.Options{Workers: 2})
		// On a small machine more than ten at a time would not be faster.
		Expect(theLab.KubeVirt.Configure(ctx, func(c *kubevirtv1.KubeVirtConfiguration) {
			c.MigrationConfiguration = &kubevirtv1.MigrationConfiguration{
				ParallelOutboundMigrationsPerNode: new(uint32(10)), ParallelMigrationsPerCluster: new(uint32(10)),
			}
		})).To(Succeed())
		crowd, err := cluster.CreateCrowd(ctx, "crowd", size, "demo-node-1")
		Expect(err).NotTo(HaveOccurred())

		began := time.Now()
		wanted := suite.Push(ctx, cluster, image.OS{})
		Expect(cluster.PatchImage(ctx, wanted)).To(Succeed())
		Eventually(func() (int, error) { return crowd.Moves(ctx, wanted) }, patience, look).Should(BeNumerically(">=", size))
		Eventually(func(g Gomega) {
			attempts, err := cluster.Attempts(ctx)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(attempts).To(ContainElement(And(
				HaveField("Spec.HostName", "demo-node-1"), HaveField("Spec.ImageURI", wanted.URI()), HaveField("Status.To.Digest", wanted.PlatformDigest))))
		}, patience, look).Should(Succeed())
		Expect(crowd.Running(ctx)).To(Equal(crowd.Instances), "none restarts")
		moves, err := crowd.Moves(ctx, wanted)
		Expect(err).NotTo(HaveOccurred())
		calls, total := scenario.Calls(suite.Audit(cluster.Workload()), cluster.Lab.WorkloadUser(), began), 0
		for _, count := range calls {
			total += count
		}
		GinkgoWriter.Println(moves, "moves in", time.Since(began), "with", total, "calls:", calls)
		Expect(float64(total)/float64(moves)).To(BeNumerically("<=", perMachine), "%v", calls)
	}, SpecTimeout(2*patience))
})
