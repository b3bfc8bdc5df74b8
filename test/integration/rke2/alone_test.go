// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package rke2_test

import (
	"slices"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/image"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/scenario"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/suite"
)

// A policy refuses all deletions of the cluster's Machines, so that what CAPRKE2 tries to delete is not lost.
var _ = Describe("CAPRKE2 by itself", Ordered, func() {
	It("deletes the only Machine that is unhealthy instead of updating it (Judge and WaitForControlPlane)", func(ctx SpecContext) {
		workload, err := theLab.StartWorkload(ctx, "alone")
		Expect(err).NotTo(HaveOccurred())
		cluster := suite.NewCluster(ctx, theLab, scenario.Options{Name: "alone", Workload: workload, ControlPlane: 3, RKE2: true})
		kept, err := cluster.Identities(ctx)
		Expect(err).NotTo(HaveOccurred())
		suite.KeepMachines(ctx, cluster)

		By("losing the host of the oldest Machine, which it updates first")
		machines, err := cluster.ControlPlaneMachines(ctx)
		Expect(err).NotTo(HaveOccurred())
		down := slices.MinFunc(machines, func(a, b clusterv1.Machine) int { return a.CreationTimestamp.Compare(b.CreationTimestamp.Time) }).Name
		hosts, err := cluster.Hosts(ctx)
		Expect(err).NotTo(HaveOccurred())
		at := slices.IndexFunc(hosts, func(h infrav1.ElementalHost) bool { return h.Labels[infrav1.MachineNameLabel] == down })
		Expect(at).To(BeNumerically(">=", 0), "the host of Machine "+down)
		host := theLab.Host(hosts[at].Name)
		Expect(host.PowerOff(ctx)).To(Succeed())
		Eventually(unhealthy).WithContext(ctx).WithArguments(cluster).Should(ConsistOf(down))

		By("pointing it to another template without the guard")
		restoreGuard := suite.WithoutGuard(ctx, theLab.Kube)
		refused := suite.RefusedFromNow(theLab)
		Expect(cluster.CopyControlPlaneTemplate(ctx, "by-hand", suite.Push(ctx, cluster, image.OS{}))).To(Succeed())
		Eventually(cluster.PointControlPlane).WithContext(ctx).WithArguments("by-hand").Should(Succeed())
		Eventually(refused).Should(And(Not(BeEmpty()), HaveEach(cluster.Namespace()+"/"+down)),
			"CAPRKE2 does not behave so any more: see judgeControlPlane and WaitForControlPlane in internal/capiworkaround")

		Eventually(cluster.PointControlPlane).WithContext(ctx).WithArguments(scenario.ControlPlaneTemplate).Should(Succeed())
		restoreGuard(ctx)
		Expect(host.PowerOn(ctx)).To(Succeed())
		Expect(cluster.Identities(ctx)).To(Equal(kept))
	})
})
