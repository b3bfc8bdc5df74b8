// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package rke2_test

import (
	"context"
	"slices"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/attempts"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/owner"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/audit"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/double/source"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/image"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/scenario"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/suite"
)

var _ = Describe("An RKE2ControlPlane of three", Ordered, func() {
	var (
		cluster *scenario.Cluster
		before  []scenario.Identity
		began   time.Time
	)

	BeforeAll(func(ctx SpecContext) {
		cluster = suite.NewCluster(ctx, theLab, scenario.Options{ControlPlane: 3, RKE2: true})
		var err error
		before, err = cluster.Identities(ctx)
		Expect(err).NotTo(HaveOccurred())
	})

	BeforeEach(func() { began = time.Now() })

	AfterEach(func(ctx SpecContext) {
		Expect(cluster.Identities(ctx)).To(Equal(before), "every Machine, Node name and provider ID is the same")
	})

	It("is upgraded in place one by one", func(ctx SpecContext) {
		wanted := suite.Push(ctx, cluster, image.OS{})
		Expect(cluster.PatchControlPlaneImage(ctx, wanted)).To(Succeed())
		Expect(cluster.AwaitControlPlaneImage(ctx, wanted)).To(Succeed())
		expectOneByOne(cluster, began)
		expectDriver(ctx, cluster, wanted, infrav1.DriverDirect, 3)
	})

	It("stops at a bad image on one node, and continues with the next good one", func(ctx SpecContext) {
		bad := suite.Push(ctx, cluster, image.OS{Boot: source.BootUnhealthy})
		Expect(cluster.PatchControlPlaneImage(ctx, bad)).To(Succeed())
		attempt, err := cluster.AwaitEnd(ctx, bad, infrav1.UpgradeRolledBack)
		Expect(err).NotTo(HaveOccurred())
		Consistently(cluster.Attempts, calm).WithContext(ctx).ShouldNot(ContainElement(
			And(HaveField("Spec.ImageURI", bad.URI()), HaveField("Spec.HostName", Not(Equal(attempt.Spec.HostName))),
				HaveField("Status.Steps", ContainElement(HaveField("Name", attempts.StepCordon))))), "no other node is cordoned")

		good := suite.Push(ctx, cluster, image.OS{})
		Expect(cluster.PatchControlPlaneImage(ctx, good)).To(Succeed())
		Expect(cluster.AwaitControlPlaneImage(ctx, good)).To(Succeed())
		Expect(audit.TriggeredFor(suite.Audit(theLab.Management), bad.URI())).To(Equal([]string{attempt.Spec.HostName}), "one host only was triggered for the bad image")
		expectOneByOne(cluster, began)
	})

	It("is upgraded with a surge, too, with which a rotation is refused", func(ctx SpecContext) {
		Expect(cluster.PatchControlPlane(ctx, surge("1"))).To(Succeed())
		wanted := suite.Push(ctx, cluster, image.OS{})
		Expect(cluster.CopyControlPlaneTemplate(ctx, "by-hand", wanted)).To(Succeed())
		Expect(cluster.PointControlPlane(ctx, "by-hand")).To(MatchError(And(
			ContainSubstring("RKE2ControlPlane control-plane has spec.rolloutStrategy.rollingUpdate.maxSurge 1: set maxSurge 0"),
			ContainSubstring("its Machines would be replaced and their hosts reset, instead of updated in place"))))
		Expect(cluster.PatchControlPlaneImage(ctx, wanted)).To(Succeed())
		Expect(cluster.AwaitControlPlaneImage(ctx, wanted)).To(Succeed())
		expectOneByOne(cluster, began)
		Expect(cluster.PatchControlPlane(ctx, surge("0"))).To(Succeed())
	})

	It("is upgraded by a rotation, which CAPRKE2 carries out by the hooks", func(ctx SpecContext) {
		wanted := suite.Push(ctx, cluster, image.OS{})
		Expect(cluster.CopyControlPlaneTemplate(ctx, "rotated", wanted)).To(Succeed())
		Eventually(cluster.PointControlPlane).WithContext(ctx).WithArguments("rotated").Should(Succeed())
		Expect(cluster.AwaitControlPlaneImage(ctx, wanted)).To(Succeed())
		expectOneByOne(cluster, began)
		expectDriver(ctx, cluster, wanted, infrav1.DriverClusterAPI, 3)

		By("returning to the template that the other specs patch")
		Expect(cluster.PatchControlPlaneImage(ctx, wanted)).To(Succeed())
		Eventually(cluster.PointControlPlane).WithContext(ctx).WithArguments(scenario.ControlPlaneTemplate).Should(Succeed())
		Expect(cluster.AwaitControlPlaneTemplate(ctx, scenario.ControlPlaneTemplate)).To(Succeed())
		Expect(cluster.AwaitRolledOut(ctx, scenario.ControlPlaneTemplate)).To(Succeed())
	})

	It("is left alone while a host is down, and upgraded when it is back", func(ctx SpecContext) {
		host := theLab.Host(cluster.ControlPlaneHostName(1))
		Expect(host.PowerOff(ctx)).To(Succeed())
		Eventually(unhealthy).WithContext(ctx).WithArguments(cluster).Should(HaveLen(1), "CAPRKE2 sees it")
		wanted := suite.Push(ctx, cluster, image.OS{})
		Expect(cluster.PatchControlPlaneImage(ctx, wanted)).NotTo(Succeed())

		Expect(host.PowerOn(ctx)).To(Succeed())
		Eventually(cluster.PatchControlPlaneImage).WithContext(ctx).WithArguments(wanted).Should(Succeed())
		Expect(cluster.AwaitControlPlaneImage(ctx, wanted)).To(Succeed())
	})
})

func surge(value string) string {
	return `{"rolloutStrategy":{"type":"RollingUpdate","rollingUpdate":{"maxSurge":` + value + `}}}`
}

// unhealthy lists the Machines that CAPRKE2 does not find healthy.
func unhealthy(ctx context.Context, cluster *scenario.Cluster) ([]string, error) {
	machines, err := cluster.ControlPlaneMachines(ctx)
	found := []string{}
	for i := range machines {
		if len(owner.Unhealthy(&machines[i])) > 0 {
			found = append(found, machines[i].Name)
		}
	}
	return found, err
}

// expectOneByOne asserts what the workload cluster's audit log must show since a time.
func expectOneByOne(cluster *scenario.Cluster, since time.Time) {
	GinkgoHelper()
	events := slices.DeleteFunc(suite.Audit(cluster.Workload()), func(event auditv1.Event) bool { return event.StageTimestamp.Time.Before(since) })
	cordons := audit.Cordons(events)
	Expect(cordons).To(HaveLen(cluster.Options.ControlPlane), "every node was cordoned")
	Expect(audit.MaxOverlap(cordons)).To(Equal(1), "one node at a time")
	Expect(audit.MaxOverlap(audit.Downtimes(events))).To(Equal(1), "one node is down at a time")
}

// expectDriver asserts by which driver the attempts for an image were made, and how many there are.
func expectDriver(ctx context.Context, cluster *scenario.Cluster, wanted image.Image, driver infrav1.UpgradeDriver, count int) {
	GinkgoHelper()
	attempts, err := cluster.Attempts(ctx)
	Expect(err).NotTo(HaveOccurred())
	attempts = slices.DeleteFunc(attempts, func(u infrav1.ElementalHostUpgrade) bool { return u.Spec.ImageURI != wanted.URI() })
	Expect(attempts).To(And(HaveLen(count), HaveEach(HaveField("Spec.Driver", driver)), HaveEach(HaveField("Status.Phase", infrav1.UpgradeSucceeded))))
}
