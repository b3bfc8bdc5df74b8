// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package restart_test

import (
	"context"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/image"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/scenario"
)

var _ = Describe("An attempt that a person", func() {
	DescribeTable("deletes is made again, or brought to its end", func(ctx SpecContext, at moment) {
		u := newUpgrade(ctx, image.OS{UpgradeSeconds: writing})
		u.startUntil(ctx, at)
		u.kubectl(ctx, "delete", "--wait=false")
		u.expectSucceeded(ctx)
		// One that the host had begun goes when it has ended; there is nothing left to make it again for.
		Eventually(u.phases, patience, look).WithContext(ctx).Should(Or(BeEmpty(), ConsistOf(infrav1.UpgradeSucceeded)))
	},
		Entry("in Drain", draining),
		Entry("in Trigger", triggered),
		Entry("while the image is written", applying),
	)

	DescribeTable("cancels undoes its marks, and is made again when it is deleted", func(ctx SpecContext, at moment) {
		u, letGo := newUpgrade(ctx, image.OS{}), holdDrain(ctx)
		u.startUntil(ctx, at)
		u.set(ctx, "cancel")
		Eventually(u.attempt, patience, look).WithContext(ctx).Should(HaveField("Status.Phase", infrav1.UpgradeAborted))
		Eventually(u.marks, patience, look).WithContext(ctx).Should(Equal(scenario.Marks{}))
		Eventually(u.machineSays, patience, look).WithContext(ctx).Should(ContainSubstring("Aborted: aborted by spec.cancel"))
		u.expectUntouched()

		letGo()
		u.kubectl(ctx, "delete")
		u.expectSucceeded(ctx)
		u.expectAttempts(ctx, infrav1.UpgradeSucceeded)
	},
		Entry("in Drain", draining),
	)

	DescribeTable("loses with its Machine ends, and the host is free again", func(ctx SpecContext, at moment, writes int) {
		u, letGo := newUpgrade(ctx, image.OS{UpgradeSeconds: writing}), func() {}
		if writes == 0 { // or the host could have begun by the time that the Machine is deleted
			letGo = holdDrain(ctx)
		}
		u.startUntil(ctx, at)
		u.deleteMachine(ctx)
		letGo()
		u.expectReplaced(ctx)
		Eventually(oneHostServes, 2*patience, look).WithContext(ctx).Should(Succeed())
		Eventually(cluster.Nodes, patience, look).WithContext(ctx).Should(HaveLen(1), "the Node of the former Machine is gone")
		finished, _ := u.calls()
		Expect(finished).To(Equal(writes), "what was begun is brought to its end, and nothing else is begun")
	},
		Entry("in Drain", draining, 0),
		Entry("while the image is written", applying, 1),
	)
})

func (u *upgrade) deleteMachine(ctx context.Context) {
	GinkgoHelper()
	machines, err := cluster.Machines(ctx)
	Expect(err).NotTo(HaveOccurred())
	Expect(machines).To(HaveLen(1))
	_, err = cluster.Kubectl(ctx, "--namespace", cluster.Namespace(), "delete", "machine", machines[0].Name, "--wait=false")
	Expect(err).NotTo(HaveOccurred())
}

// expectReplaced waits until another Machine runs the image, and the former one is gone with its slot.
func (u *upgrade) expectReplaced(ctx context.Context) {
	GinkgoHelper()
	Eventually(cluster.Identities, 2*patience, look).WithContext(ctx).Should(ConsistOf(And(
		HaveField("MachineUID", Not(Equal(u.before.MachineUID))), HaveField("Node", Not(BeEmpty())),
	)), "the Machine is replaced")
	Expect(cluster.AwaitWorkers(ctx)).To(Succeed())
	identities, err := cluster.Identities(ctx)
	Expect(err).NotTo(HaveOccurred())
	Eventually(func(ctx context.Context) (*infrav1.ElementalHost, error) {
		host := &infrav1.ElementalHost{}
		return host, theLab.Kube.Get(ctx, client.ObjectKey{Namespace: cluster.Namespace(), Name: identities[0].Node}, host)
	}, patience, look).WithContext(ctx).Should(HaveField("Status.OS.Digest", u.wanted.PlatformDigest))
	Eventually(func(ctx context.Context) ([]infrav1.UpgradeSlot, error) {
		owner := &infrav1.ElementalCluster{}
		err := theLab.Kube.Get(ctx, client.ObjectKey{Namespace: cluster.Namespace(), Name: cluster.Options.Name}, owner)
		return owner.Status.UpgradeSlots, err
	}, patience, look).WithContext(ctx).Should(BeEmpty())
}

// oneHostServes asserts that of the two hosts one serves the Machine and the other can be taken.
func oneHostServes(g Gomega, ctx context.Context) { //nolint:revive // the order that Eventually wants
	hosts, err := cluster.Hosts(ctx)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(hosts).To(HaveLen(2))
	free := 0
	for i := range hosts {
		host := &hosts[i]
		g.Expect(host.DeletionTimestamp).To(BeNil(), host.Name)
		g.Expect(host.Labels).To(HaveKeyWithValue(infrav1.InstalledLabel, "true"), host.Name)
		g.Expect(host.Labels).NotTo(HaveKey(infrav1.NeedsResetLabel), host.Name)
		g.Expect(host.Annotations).NotTo(HaveKey(infrav1.BlockMoveAnnotation), host.Name)
		g.Expect(host.Spec.Upgrade).To(BeNil(), host.Name)
		if host.Spec.MachineRef == nil {
			free++
		}
	}
	g.Expect(free).To(Equal(1))
}
