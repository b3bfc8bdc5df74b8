// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package rollout_test

import (
	"context"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/image"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/scenario"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/suite"
)

var _ = Describe("A template that is patched twice", Ordered, func() {
	var (
		cluster *scenario.Cluster
		before  []scenario.Identity
	)

	BeforeAll(func(ctx SpecContext) {
		cluster = suite.NewCluster(ctx, suite.StartLab(ctx, lab.Options{}), scenario.Options{})
		var err error
		before, err = cluster.Identities(ctx)
		Expect(err).NotTo(HaveOccurred())
	})

	DescribeTable("reboots each host once, into the second image",
		func(ctx SpecContext, tag string, between func(ctx context.Context, first func())) {
			first, second := push(ctx, cluster, tag+"a", image.OS{}), push(ctx, cluster, tag+"b", image.OS{})
			boots, upgrades := map[string]int{}, map[string]int{}
			for _, host := range cluster.Lab.Hosts() {
				boots[host.Name()], upgrades[host.Name()] = len(host.Boots()), upgradesOf(host)
			}
			between(ctx, func() { Expect(cluster.PatchImage(ctx, first)).To(Succeed()) })
			Expect(cluster.PatchImage(ctx, second)).To(Succeed())
			Expect(cluster.AwaitImage(ctx, second)).To(Succeed())

			for _, host := range cluster.Lab.Hosts() {
				Expect(len(host.Boots())-boots[host.Name()]).To(Equal(1), "%s was rebooted once", host.Name())
				Expect(upgradesOf(host)-upgrades[host.Name()]).To(Equal(1), "%s was written one image", host.Name())
			}
			expectKept(ctx, cluster, before)
			Expect(cordonedNodes(ctx, cluster)).To(BeEmpty())
		},
		Entry("about half a second later, which is what kubectl takes", "v2", func(_ context.Context, first func()) { first() }),
		Entry("as soon as a Machine is given the OS of the first patch", "v3", func(ctx context.Context, first func()) {
			Expect(cluster.AwaitRolledOut(ctx, scenario.Template)).To(Succeed())
			assigned := make(chan struct{})
			suite.Changes(ctx, cluster.Lab.Kube, &infrav1.ElementalMachineList{}, func(event watch.Event) bool {
				machine, isMachine := event.Object.(*infrav1.ElementalMachine)
				if !isMachine || machine.Annotations[infrav1.RolloutAnnotation] == "" {
					return false
				}
				close(assigned)
				return true
			}, client.InNamespace(cluster.Namespace()))
			first()
			Eventually(assigned).WithPolling(10 * time.Millisecond).Should(BeClosed())
		}),
	)
})
