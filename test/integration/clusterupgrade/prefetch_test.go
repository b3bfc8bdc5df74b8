// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package clusterupgrade_test

import (
	"context"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/double/disk"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/image"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/suite"
)

// tooSmall is the size of a state partition that no image fits on, in bytes.
const tooSmall = 1 << 20

// fetched are the names of the hosts that have an image for an order.
func fetched(ctx context.Context) ([]string, error) {
	hosts, err := cluster.Hosts(ctx)
	names := []string{}
	for i := range hosts {
		if report := hosts[i].Status.Prefetch; report != nil && report.Phase == infrav1.HostUpgradeFetched {
			names = append(names, hosts[i].Name)
		}
	}
	return names, err
}

// stageOf an ElementalClusterUpgrade, by its name.
func stageOf(ctx context.Context, upgrade, name string) (infrav1.ClusterUpgradeStage, error) {
	found, err := status(ctx, upgrade)
	for _, stage := range found.Stages {
		if stage.Name == name {
			return stage, err
		}
	}
	return infrav1.ClusterUpgradeStage{}, err
}

var _ = Describe("Stage Prefetch", func() {
	It("has all hosts fetch one digest of a tag that moves, and holds all nodes while one of them cannot", func(ctx SpecContext) {
		wanted, full := suite.Push(ctx, cluster, image.OS{}), hostsOf(ctx, poolB)[0]
		Expect(theLab.Host(full).Disk().SetStateBytes(tooSmall)).To(Succeed())
		DeferCleanup(func() { Expect(theLab.Host(full).Disk().SetStateBytes(disk.DefaultStateBytes)).To(Succeed()) })
		Expect(apply(ctx, "ahead", wanted, "")).To(Succeed())

		By("fetching it on all hosts but one, which has no space")
		Eventually(status).WithContext(ctx).WithArguments("ahead").Should(And(
			HaveField("Stage", HavePrefix("Prefetch (2/")),
			HaveField("Message", And(ContainSubstring("ElementalHost "+full+" says: not enough space on the state partition"), HaveSuffix("it tries again")))))
		Eventually(fetched).WithContext(ctx).Should(And(HaveLen(all-1), Not(ContainElement(full))))
		Consistently(cluster.Attempts, calm).WithContext(ctx).ShouldNot(ContainElement(HaveField("Spec.ImageURI", wanted.URI())), "no template is changed")

		By("moving the tag, and mending the host")
		digest := must(status(ctx, "ahead")).Digest
		moved, err := theLab.Registry.Push(ctx, wanted.Repository, wanted.Tag, image.OS{Version: "another"})
		Expect(err).NotTo(HaveOccurred())
		Expect(moved.URI()).To(Equal(wanted.URI()))
		Expect(theLab.Host(full).Disk().SetStateBytes(disk.DefaultStateBytes)).To(Succeed())
		Eventually(phase, whole).WithContext(ctx).WithArguments("ahead").Should(Equal(infrav1.ClusterUpgradeSucceeded))

		By("looking at what came of it")
		Expect(cluster.Hosts(ctx)).To(HaveEach(And(HaveField("Status.OS.Digest", digest), HaveField("Spec.Prefetch", BeNil()))))
		done := must(stageOf(ctx, "ahead", "Prefetch"))
		Expect(done).To(And(HaveField("NodesDone", BeEquivalentTo(all)), HaveField("Message", BeEmpty())))
		for _, attempt := range must(cluster.Attempts(ctx)) {
			if attempt.Spec.ImageURI == wanted.URI() {
				Expect(attempt.CreationTimestamp.Time).NotTo(BeTemporally("<", done.CompletionTime.Time), attempt.Name)
			}
		}
		late := done.CompletionTime.Add(time.Second)
		Expect(theLab.Registry.Requests()).NotTo(ContainElement(And(
			HaveField("Method", "GET"), HaveField("Path", ContainSubstring("/"+wanted.Repository+"/")), HaveField("Time", BeTemporally(">", late)))),
			"an attempt finds the image, and asks no registry")
		Eventually(fetched).WithContext(ctx).Should(BeEmpty(), "orders that are removed are forgotten")
	})
})

func must[T any](value T, err error) T {
	GinkgoHelper()
	Expect(err).NotTo(HaveOccurred())
	return value
}
