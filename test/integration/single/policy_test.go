// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package single_test

import (
	"context"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	kubevirtv1 "kubevirt.io/api/core/v1"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/image"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/kubevirt/vm"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/scenario"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/suite"
)

var _ = Describe("The virtual machines of the only Node", func() {
	const auto, manual = infrav1.NodeUpgradeModeAuto, infrav1.NodeUpgradeModeManual

	DescribeTable("are stopped where the policy allows it, before the host goes down", func(ctx SpecContext,
		policy infrav1.VMPolicy, mode infrav1.NodeUpgradeMode, decision infrav1.VMDecision, runsAfter kubevirtv1.VirtualMachineRunStrategy,
	) {
		pet := run(ctx, "pet")
		held := suite.HoldHost(cluster.Lab.Host(node), infrav1.HostUpgradeApplying)
		wanted := begin(ctx, policy, mode)
		if mode == manual {
			approve(ctx, wanted, pet)
		}
		Eventually(held.Came(string(infrav1.HostUpgradeApplying))).Should(BeClosed())
		Expect(cluster.VM(ctx, pet.key)).To(Equal(vm.State{}), "it has shut down")
		Expect(attemptFor(ctx, wanted)()).To(HaveField("Status.VirtualMachines", ConsistOf(And(
			HaveField("Name", "pet"), HaveField("Decision", decision), HaveField("Reason", ContainSubstring("there is no other node"))))))

		held.Release(string(infrav1.HostUpgradeApplying))
		succeeds(ctx, wanted)
		Expect(machineOf(ctx, pet)()).To(And(
			HaveField("Spec.RunStrategy", HaveValue(Equal(runsAfter))),
			HaveField("Annotations", Not(HaveKey(infrav1.VMPowerStateAnnotation))), HaveField("Labels", Not(HaveKey(infrav1.VMStoppedLabel)))))
		if runsAfter == kubevirtv1.RunStrategyAlways {
			Eventually(stateOf(ctx, pet.key)).Should(And(HaveField("Running()", BeTrue()), HaveField("UID", Not(Equal(pet.before.UID)))))
			return
		}
		Consistently(stateOf(ctx, pet.key), calm).Should(Equal(vm.State{}), "it stays off")
	},
		Entry("Shutdown", SpecTimeout(2*patience), infrav1.VMPolicyShutdown, auto, infrav1.VMShutdown, kubevirtv1.RunStrategyHalted),
		Entry("Shutdown, of a node that is paused", SpecTimeout(2*patience), infrav1.VMPolicyShutdown, manual, infrav1.VMShutdown, kubevirtv1.RunStrategyHalted),
		Entry("ShutdownAndRestore", SpecTimeout(2*patience), infrav1.VMPolicyShutdownAndRestore, auto, infrav1.VMShutdownAndRestore, kubevirtv1.RunStrategyAlways),
		Entry("ShutdownAndRestore, of a node that is paused", SpecTimeout(2*patience), infrav1.VMPolicyShutdownAndRestore, manual,
			infrav1.VMShutdownAndRestore, kubevirtv1.RunStrategyAlways),
	)

	DescribeTable("are left alone where the policy forbids it, and the upgrade waits for a person to stop them", func(ctx SpecContext,
		policy infrav1.VMPolicy, mode infrav1.NodeUpgradeMode,
	) {
		pet := run(ctx, "pet")
		wanted := begin(ctx, policy, mode)
		if mode == manual {
			approve(ctx, wanted, pet)
		}
		Eventually(attemptFor(ctx, wanted)).Should(HaveField("Status", And(
			HaveField("Step", "EvacuateVMs"), HaveField("Message", And(ContainSubstring("vms/pet"), ContainSubstring("there is no other node"))))))
		Consistently(stateOf(ctx, pet.key), calm).Should(Equal(pet.before), "nobody touches it")
		Expect(attemptFor(ctx, wanted)()).To(HaveField("Status.Step", "EvacuateVMs"))

		By("stopping it")
		_, err := cluster.WorkloadKubectl(ctx, "--namespace", pet.key.Namespace, "patch", "virtualmachine", pet.key.Name, "--type", "merge",
			"--patch", `{"spec":{"runStrategy":"Halted"}}`)
		Expect(err).NotTo(HaveOccurred())
		succeeds(ctx, wanted)
		Expect(machineOf(ctx, pet)()).To(HaveField("Spec.RunStrategy", HaveValue(Equal(kubevirtv1.RunStrategyHalted))), "as the person left it")
	},
		Entry("Block", SpecTimeout(2*patience), infrav1.VMPolicyBlock, auto),
		Entry("Block, of a node that is paused", SpecTimeout(2*patience), infrav1.VMPolicyBlock, manual),
		Entry("Migrate", SpecTimeout(2*patience), infrav1.VMPolicyMigrate, auto),
		Entry("Migrate, of a node that is paused", SpecTimeout(2*patience), infrav1.VMPolicyMigrate, manual),
	)
})

// begin a rollout under a policy for virtual machines, with the node paused in mode manual.
func begin(ctx context.Context, policy infrav1.VMPolicy, mode infrav1.NodeUpgradeMode) image.Image {
	GinkgoHelper()
	Expect(cluster.PatchUpgradeOption(ctx, `{"vmPolicy":"`+string(policy)+`","strategy":{"mode":"`+string(mode)+`"}}`)).To(Succeed())
	wanted := suite.Push(ctx, cluster, image.OS{})
	Expect(cluster.PatchControlPlaneImage(ctx, wanted)).To(Succeed())
	return wanted
}

// approve the upgrade of the node once it waits for that. Nothing is done to virtual machines before.
func approve(ctx context.Context, wanted image.Image, pet guest) {
	GinkgoHelper()
	Eventually(attemptFor(ctx, wanted)).Should(HaveField("Status.Step", "Approve"))
	Consistently(stateOf(ctx, pet.key), calm).Should(Equal(pet.before), "it runs while the node is paused")
	_, err := cluster.WorkloadKubectl(ctx, "annotate", "node", node, infrav1.NodeUpgradePauseAnnotation+"-")
	Expect(err).NotTo(HaveOccurred())
}

// succeeds waits until the host runs the image, and nothing of the attempt is left.
func succeeds(ctx context.Context, wanted image.Image) {
	GinkgoHelper()
	_, err := cluster.AwaitEnd(ctx, wanted, infrav1.UpgradeSucceeded)
	Expect(err).NotTo(HaveOccurred())
	Expect(cluster.AwaitControlPlaneImage(ctx, wanted)).To(Succeed())
	Eventually(cluster.Marks).WithContext(ctx).WithArguments(before[0]).Should(Equal(scenario.Clean))
	Expect(cluster.Identities(ctx)).To(Equal(before), "Machine, Node name and provider ID are the same")
}
