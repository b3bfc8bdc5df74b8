// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package ends_test

import (
	"context"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/conditions"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/double/source"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/image"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/scenario"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/suite"
)

// end is a scenario that leads to one of the ends.
type end struct {
	options infrav1.NodeUpgradeOption
	os      image.OS
	// reach makes the upgrade reach the end, from before its start.
	reach func(ctx context.Context, u *upgrade)
	row   row
	// then is what follows, until a good image succeeds.
	then func(ctx context.Context, u *upgrade)
}

// run makes an upgrade reach the end, asserts its row, and continues with then.
func (e end) run(ctx context.Context) {
	GinkgoHelper()
	setOptions(ctx, e.options)
	u := newUpgrade(ctx, e.os)
	e.reach(ctx, u)
	e.row.expect(ctx, u)
	e.then(ctx, u)
}

var _ = DescribeTable("An attempt ends as the table says", func(ctx SpecContext, e end) { e.run(ctx) },
	Entry("Failed: the image does not exist", end{
		reach: func(ctx context.Context, u *upgrade) {
			u.wanted.Ref += "-missing"
			u.start(ctx)
		},
		row: row{phase: infrav1.UpgradeFailed, answer: "Failed: ElementalHost HOST could not be upgraded: "},
		then: func(ctx context.Context, u *upgrade) {
			expectNextSucceeds(ctx)
			Expect(u.theAttempt(ctx).Status.Phase).To(Equal(infrav1.UpgradeSuperseded), "it has made room")
		},
	}),
	Entry("Failed: the host has no space left when it is triggered", end{
		reach: func(ctx context.Context, u *upgrade) {
			startTo(ctx, u, "Drain")
			fillStatePartition(u)
			u.lift(ctx)
		},
		row: row{
			phase:  infrav1.UpgradeFailed,
			answer: "Failed: ElementalHost HOST could not be upgraded: not enough space on the state partition",
		},
		then: func(ctx context.Context, u *upgrade) {
			freeStatePartition(u)
			By("retrying the same image by deleting the attempt")
			u.kubectl(ctx, "delete")
			u.expectSucceeded(ctx)
		},
	}),
	Entry("RolledBack: the image is bad, and so is the next one; then the user reverts to the original one, which needs no upgrade", end{
		os:    image.OS{Boot: source.BootUnhealthy},
		reach: startOnly,
		row: row{
			phase:  infrav1.UpgradeRolledBack,
			answer: "RolledBack: ElementalHost HOST runs its former OS again: ",
		},
		then: func(ctx context.Context, u *upgrade) {
			Expect(quarantined(ctx)).To(ContainElement(HaveField("Digest", u.wanted.PlatformDigest)))
			By("falling back from another image past the bad one, which the boot loader tries first")
			worse := newUpgrade(ctx, image.OS{Boot: source.BootNone})
			worse.patch(ctx)
			row{
				phase:  infrav1.UpgradeRolledBack,
				answer: "RolledBack: ElementalHost HOST runs its former OS again: ",
			}.expect(ctx, worse)
			goBack(ctx, worse, scenario.Marks{})
		},
	}),
	Entry("RolledBack: the image is bad, and the node is kept cordoned; then it is uncordoned before the next image", end{
		options: infrav1.NodeUpgradeOption{OnRollback: infrav1.RollbackKeepCordoned},
		os:      image.OS{Boot: source.BootNone},
		reach:   startOnly,
		row: row{
			phase:  infrav1.UpgradeRolledBack,
			marks:  scenario.Marks{Unschedulable: true, CordonedBy: ours},
			answer: "RolledBack: ElementalHost HOST runs its former OS again: ",
		},
		then: expectSuperseded,
	}),
	Entry("RolledBack: the former OS is unhealthy too; then the next image is not tried until a person has intervened", end{
		options: infrav1.NodeUpgradeOption{OnRollback: infrav1.RollbackKeepCordoned},
		os:      image.OS{Boot: source.BootNone},
		reach: func(ctx context.Context, u *upgrade) {
			failChecks(u)
			u.start(ctx)
		},
		row: row{
			phase:  infrav1.UpgradeRolledBack,
			marks:  scenario.Marks{Unschedulable: true, CordonedBy: ours},
			answer: "the former OS is not healthy: required check 10-storage failed: the array is degraded",
		},
		then: expectKeptUntilUncordoned,
	}),
	Entry("held: a PodDisruptionBudget never allows an eviction; then it is relaxed", end{
		options: infrav1.NodeUpgradeOption{Timeouts: infrav1.UpgradeTimeouts{DrainSeconds: new(int32(1))}},
		reach: func(ctx context.Context, u *upgrade) {
			startTo(ctx, u, "Drain")
		},
		row: row{
			phase: infrav1.UpgradeProgressing, marks: cordoned,
			answer: "Drain (7/14): PodDisruptionBudget default/all-of-web allows no eviction of Pods default/web-",
		},
		then: func(ctx context.Context, u *upgrade) {
			says := ContainSubstring("(for longer than 1s)")
			Eventually(u.attempt).WithContext(ctx).Should(HaveField("Status.Message", says))
			Consistently(u.attempt, calm).WithContext(ctx).Should(And(
				HaveField("Status.Phase", infrav1.UpgradeProgressing), HaveField("Status.Message", says)), "a time-out ends nothing")
			u.lift(ctx)
			u.expectSucceeded(ctx)
		},
	}),
)

func startOnly(ctx context.Context, u *upgrade) {
	GinkgoHelper()
	u.start(ctx)
}

// startTo starts the upgrade and blocks it at a step.
func startTo(ctx context.Context, u *upgrade, step string) {
	GinkgoHelper()
	u.lift = holdAt(ctx, u, step)
	u.start(ctx)
	u.held(ctx, step, "")
}

// expectSuperseded requests the next image, asserts what the attempt leaves to the next one, and lets that
// succeed.
func expectSuperseded(ctx context.Context, u *upgrade) {
	GinkgoHelper()
	next := newUpgrade(ctx, image.OS{})
	wake := holdAt(ctx, next, "Preflight")
	next.patch(ctx)
	row{phase: infrav1.UpgradeSuperseded, marks: asked, answer: done}.expect(ctx, u)
	u.lift(ctx)
	wake(ctx)
	next.expectSucceeded(ctx)
}

// goBack requests the image that the worker already runs, which needs no upgrade.
func goBack(ctx context.Context, u *upgrade, left scenario.Marks) {
	GinkgoHelper()
	finished, _ := suite.Writes(u.host, u.began)
	boots := u.host.Boots()
	Expect(cluster.Rotate(ctx, running)).To(Succeed())
	row{phase: infrav1.UpgradeSuperseded, marks: left, answer: done}.expect(ctx, u)
	Eventually(u.machine).WithContext(ctx).Should(
		WithTransform(isTrue(clusterv1.MachineUpToDateCondition), BeTrue()), "it is the Machine of the original template again")
	Expect(cluster.AwaitImage(ctx, running)).To(Succeed())
	Expect(cluster.Identities(ctx)).To(ConsistOf(u.worker))
	again, _ := suite.Writes(u.host, u.began)
	Expect(again).To(Equal(finished), "nothing more was written")
	Expect(u.host.Boots()).To(HaveLen(len(boots)), "and nothing booted")
}

// expectKeptUntilUncordoned requests the next image, which is not tried until a person uncordons the node.
func expectKeptUntilUncordoned(ctx context.Context, u *upgrade) {
	GinkgoHelper()
	Expect(conditions.GetReason(u.theAttempt(ctx), infrav1.FormerOSHealthyCondition)).To(Equal(infrav1.FormerOSNotGoodReason))
	passChecks(u)
	kept, err := cluster.Marks(ctx, u.worker)
	Expect(err).NotTo(HaveOccurred())
	next := newUpgrade(ctx, image.OS{})
	next.patch(ctx)
	Consistently(u.attempt, calm).WithContext(ctx).Should(HaveField("Status.Phase", infrav1.UpgradeRolledBack))
	Expect(cluster.Marks(ctx, u.worker)).To(Equal(kept))
	_, err = theLab.WorkloadKubectl(ctx, "uncordon", u.worker.Node)
	Expect(err).NotTo(HaveOccurred())
	next.expectSucceeded(ctx)
	Expect(u.theAttempt(ctx).Status.Phase).To(Equal(infrav1.UpgradeSuperseded))
}

// quarantined images of the cluster.
func quarantined(ctx context.Context) []infrav1.QuarantinedImage {
	GinkgoHelper()
	owner := &infrav1.ElementalCluster{}
	Expect(theLab.Kube.Get(ctx, client.ObjectKey{Namespace: cluster.Namespace(), Name: cluster.Options.Name}, owner)).To(Succeed())
	return owner.Spec.Quarantine
}
