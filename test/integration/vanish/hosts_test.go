// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package vanish_test

import (
	"context"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/cluster-api/util/conditions"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/scenario"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/specs"
)

var _ = Describe("An ElementalHost that is deleted", func() {
	It("before the trigger, is not upgraded, and is deleted with its Machine", func(ctx SpecContext) {
		u := start(ctx, small, draining)
		u.kubectl(ctx, "delete", "elementalhost", u.host.Name(), "--wait=false")
		u.expectEnd(ctx, infrav1.UpgradeAborted, "is being deleted: delete Machine "+u.attempt.Spec.MachineName)
		Eventually(u.node).WithContext(ctx).Should(serve(), "its node serves on")
		Eventually(u.blockedSays).WithContext(ctx).Should(ContainSubstring("is being deleted: delete Machine"))
		Eventually(u.associationSays).WithContext(ctx).Should(HavePrefix("AssociatedHostNotFound: "))
		u.expectUntouched()

		u.release(ctx)
		u.kubectl(ctx, "delete", "machine", u.attempt.Spec.MachineName, "--wait=false")
		u.expectReplaced(ctx)
		Expect(u.resets()).To(Equal(1), "it was reset before it went")
	})

	It("while it writes the image, completes that, and is deleted with its Machine", func(ctx SpecContext) {
		u := start(ctx, small, applying)
		u.kubectl(ctx, "delete", "elementalhost", u.host.Name(), "--wait=false")
		u.goOn()
		u.expectEnd(ctx, infrav1.UpgradeSucceeded, "")
		Eventually(u.node).WithContext(ctx).Should(serve())
		Eventually(u.associationSays).WithContext(ctx).Should(HavePrefix("AssociatedHostNotFound: "))
		Expect([]int{u.writes(), u.reboots()}).To(Equal([]int{1, 1}))

		u.kubectl(ctx, "delete", "machine", u.attempt.Spec.MachineName, "--wait=false")
		u.expectReplaced(ctx)
		Expect(u.resets()).To(Equal(1))
	})

	It("by force, is not confused with the one that registers in its place", func(ctx SpecContext) {
		u := start(ctx, small, draining)
		u.kubectl(ctx, "delete", "elementalhost", u.host.Name(), "--wait=false")
		u.kubectl(ctx, "patch", "elementalhost", u.host.Name(), "--type", "merge", "--patch", `{"metadata":{"finalizers":null}}`)
		Eventually(u.associationSays).WithContext(ctx).Should(And(HavePrefix("AssociatedHostReplaced: "), ContainSubstring("was registered again")))
		Eventually(u.now).WithContext(ctx).Should(BeNil(), "the attempt goes with its host")
		Eventually(u.node).WithContext(ctx).Should(serve())
		u.expectUntouched()

		u.release(ctx)
		u.kubectl(ctx, "delete", "machine", u.attempt.Spec.MachineName, "--wait=false")
		u.expectReplaced(ctx)
		Expect(u.resets()).To(Equal(1))
	})
})

var _ = Describe("A Machine that is deleted", func() {
	DescribeTable("ends its upgrade, and its host is available again", func(ctx SpecContext, at stage, writes int) {
		u := start(ctx, small, at)
		u.kubectl(ctx, "delete", "machine", u.attempt.Spec.MachineName, "--wait=false")
		u.goOn()
		Eventually(u.now).WithContext(ctx).Should(Or(BeNil(), HaveField("Status.CompletionTime", Not(BeNil()))))
		Expect(u.writes()).To(Equal(writes), "what was begun is brought to its end, and nothing else is begun")
		u.release(ctx)
		u.expectReplaced(ctx)
		Expect(u.writes()).To(Equal(writes))
		Expect(u.resets()).To(Equal(1))
	},
		Entry("before the trigger", draining, 0),
		Entry("while the image is written", applying, 1),
		Entry("after the reboot has begun", rebooting, 1),
	)
})

// expectEnd waits for the end of the attempt.
func (u *upgrade) expectEnd(ctx context.Context, phase infrav1.UpgradePhase, message string) {
	GinkgoHelper()
	Eventually(u.now).WithContext(ctx).Should(HaveValue(And(
		HaveField("Status.Phase", phase), HaveField("Status.Message", ContainSubstring(message)))))
}

// node of the attempt.
func (u *upgrade) node(ctx context.Context) (*corev1.Node, error) {
	node := &corev1.Node{}
	return node, u.WorkloadKube().Get(ctx, client.ObjectKey{Name: u.attempt.Status.NodeName}, node)
}

// serve matches a schedulable Node without any mark of ours.
func serve() OmegaMatcher {
	return And(HaveField("Spec.Unschedulable", BeFalse()), HaveField("Annotations", Not(HaveKey(infrav1.CordonedByAnnotation))))
}

// associationSays is the condition of the attempt's ElementalMachine about its host.
func (u *upgrade) associationSays(ctx context.Context) (string, error) {
	machine := &infrav1.ElementalMachine{}
	err := theLab.Kube.Get(ctx, client.ObjectKey{Namespace: u.Namespace(), Name: u.attempt.Spec.ElementalMachineName}, machine)
	return conditions.GetReason(machine, infrav1.AssociationReadyCondition) + ": " +
		conditions.GetMessage(machine, infrav1.AssociationReadyCondition), err
}

// resets of the host since the upgrade began.
func (u *upgrade) resets() int {
	GinkgoHelper()
	all, err := u.host.Calls()
	Expect(err).NotTo(HaveOccurred())
	count := 0
	for _, call := range all {
		if call.Is("elemental", "reset") && call.Start.After(u.began) {
			count++
		}
	}
	return count
}

// expectReplaced waits until the Machine of the attempt is deleted, another one runs the image, and no traces
// are left.
func (u *upgrade) expectReplaced(ctx context.Context) {
	GinkgoHelper()
	Eventually(u.Machines, 2*specs.Patience, look).WithContext(ctx).ShouldNot(ContainElement(HaveField("Name", u.attempt.Spec.MachineName)))
	Expect(u.AwaitWorkers(ctx)).To(Succeed())
	Expect(u.AwaitImage(ctx, u.wanted)).To(Succeed())
	expectNoTraces(ctx, u.Cluster)
}

// identities of the workers.
func identities(ctx context.Context, cluster *scenario.Cluster) []scenario.Identity {
	GinkgoHelper()
	all, err := cluster.Identities(ctx)
	Expect(err).NotTo(HaveOccurred())
	return all
}
