// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package clusterupgrade_test

import (
	"context"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/attempts"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/double/disk"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/image"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/suite"
)

// tooSmall is the size of a state partition that no image fits on, in bytes.
const tooSmall = 1 << 20

// fetched are the names of the hosts that have fetched an image for their attempts.
func fetched(ctx context.Context, wanted image.Image) ([]string, error) {
	found, err := cluster.Attempts(ctx)
	names := []string{}
	for i := range found {
		if found[i].Spec.ImageURI == wanted.URI() && attempts.HasFetched(&found[i]) {
			names = append(names, found[i].Spec.HostName)
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
			HaveField("Message", And(HavePrefix("node "+full+": "), ContainSubstring("not enough space on the state partition")))))
		Eventually(fetched).WithContext(ctx).WithArguments(wanted).Should(And(HaveLen(all-1), Not(ContainElement(full))))
		Consistently(begun, calm).WithContext(ctx).WithArguments(wanted).Should(BeEmpty(), "no node starts")

		By("moving the tag, and mending the host")
		digest := must(status(ctx, "ahead")).Digest
		moved, err := theLab.Registry.Push(ctx, wanted.Repository, wanted.Tag, image.OS{Version: "another"})
		Expect(err).NotTo(HaveOccurred())
		Expect(moved.URI()).To(Equal(wanted.URI()))
		Expect(theLab.Host(full).Disk().SetStateBytes(disk.DefaultStateBytes)).To(Succeed())
		Eventually(phase, whole).WithContext(ctx).WithArguments("ahead").Should(Equal(infrav1.ClusterUpgradeSucceeded))

		By("looking at what came of it")
		Expect(cluster.Hosts(ctx)).To(HaveEach(HaveField("Status.OS.Digest", digest)))
		done := must(stageOf(ctx, "ahead", "Prefetch"))
		Expect(done).To(And(HaveField("NodesDone", BeEquivalentTo(all)), HaveField("Message", BeEmpty())))
		late := done.CompletionTime.Add(time.Second)
		Expect(theLab.Registry.Requests()).NotTo(ContainElement(And(
			HaveField("Method", "GET"), HaveField("Path", ContainSubstring("/"+wanted.Repository+"/")), HaveField("Time", BeTemporally(">", late)))),
			"no registry is asked while nodes are out of service")
	})
})

func must[T any](value T, err error) T {
	GinkgoHelper()
	Expect(err).NotTo(HaveOccurred())
	return value
}
