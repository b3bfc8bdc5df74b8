// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package vms_test

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/types"
	kubevirtv1 "kubevirt.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/kubevirt/hypervisor"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/kubevirt/vm"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/suite"
)

// local simulates a disk that only one node can access.
var local = map[string]string{hypervisor.NotMigratable: kubevirtv1.VirtualMachineInstanceReasonDisksNotMigratable}

var _ = Describe("A virtual machine that cannot be migrated", func() {
	It("blocks its node by default, is reported, and is stopped and restarted when a person allows it", func(ctx SpecContext) {
		stuck := run(ctx, vm.Spec{
			Name: "stuck", RunStrategy: kubevirtv1.RunStrategyRerunOnFailure, EvictionStrategy: kubevirtv1.EvictionStrategyLiveMigrateIfPossible,
			Require: nodeTwo, Asks: local,
		})
		held := suite.HoldHost(cluster.Lab.Host(nodeTwo), infrav1.HostUpgradeApplying)
		wanted := upgrade(ctx)
		Eventually(attemptOn(ctx, nodeTwo, wanted)).Should(HaveField("Status.Message",
			And(ContainSubstring("vms/stuck"), ContainSubstring("is not live-migratable: DisksNotLiveMigratable"))))
		Consistently(stateOf(ctx, stuck.key), calm).Should(Equal(stuck.before), "nobody touches it")

		By("allowing it to be stopped")
		_, err := cluster.Lab.WorkloadKubectl(ctx, "--namespace", vm.Namespace, "label", "virtualmachine", "stuck",
			infrav1.VMPolicyLabel+"="+string(infrav1.VMPolicyShutdownAndRestore))
		Expect(err).NotTo(HaveOccurred())
		Eventually(machineOf(ctx, stuck)).Should(HaveField("Annotations", HaveKeyWithValue(infrav1.VMPowerStateAnnotation, And(
			ContainSubstring(`"field":"runStrategy","value":"RerunOnFailure"`), ContainSubstring(nodeTwo)))))
		held.Release(string(infrav1.HostUpgradeApplying))
		Expect(cluster.AwaitImage(ctx, wanted)).To(Succeed())
		Eventually(stateOf(ctx, stuck.key)).Should(And(HaveField("Running()", BeTrue()), HaveField("Node", nodeTwo)))
		Expect(cluster.VM(ctx, stuck.key)).NotTo(HaveField("UID", stuck.before.UID))
		Expect(machineOf(ctx, stuck)()).To(HaveField("Spec.RunStrategy", HaveValue(Equal(kubevirtv1.RunStrategyRerunOnFailure))))
		Expect(attemptOn(ctx, nodeTwo, wanted)()).To(HaveField("Status.VirtualMachines", ContainElement(
			decisionOf(stuck, infrav1.VMShutdownAndRestore, "label "+infrav1.VMPolicyLabel+" is ShutdownAndRestore"))))
		expectNothingLeft(ctx)
	}, SpecTimeout(3*patience))

	It("is stopped and restored by the policy of the cluster, and one that was off stays off", func(ctx SpecContext) {
		mayStop(ctx)
		always := run(ctx, vm.Spec{Name: "always", EvictionStrategy: kubevirtv1.EvictionStrategyLiveMigrate, Require: nodeOne, Asks: local})
		byRunning := run(ctx, vm.Spec{Name: "by-running", Require: nodeTwo, Change: func(machine *kubevirtv1.VirtualMachine) {
			machine.Spec.RunStrategy, machine.Spec.Running = nil, new(true)
		}})
		manual := run(ctx, vm.Spec{Name: "manual", Require: nodeThree, Asks: local})
		Expect(cluster.WorkloadKube().Patch(ctx, vm.New(vm.Spec{Name: "manual"}),
			client.RawPatch(types.MergePatchType, []byte(`{"spec":{"runStrategy":"Manual"}}`)))).To(Succeed())
		off, err := vm.Create(ctx, cluster.WorkloadKube(), vm.Spec{Name: "off", RunStrategy: kubevirtv1.RunStrategyHalted, Require: nodeOne})
		Expect(err).NotTo(HaveOccurred())
		DeferCleanup(func(ctx SpecContext) { Expect(cluster.WorkloadKube().Delete(ctx, off)).To(Succeed()) })

		wanted := upgrade(ctx)
		Expect(cluster.AwaitImage(ctx, wanted)).To(Succeed())
		for _, g := range []guest{always, byRunning, manual} {
			Eventually(stateOf(ctx, g.key)).Should(And(HaveField("Running()", BeTrue()), HaveField("Node", g.before.Node)), g.key.Name)
			Expect(cluster.VM(ctx, g.key)).NotTo(HaveField("UID", g.before.UID))
			Expect(attemptOn(ctx, g.before.Node, wanted)()).To(HaveField("Status.VirtualMachines", ContainElement(And(
				HaveField("Name", g.key.Name), HaveField("Decision", infrav1.VMShutdownAndRestore)))))
		}
		Expect(machineOf(ctx, always)()).To(HaveField("Spec.RunStrategy", HaveValue(Equal(kubevirtv1.RunStrategyAlways))))
		Expect(machineOf(ctx, byRunning)()).To(And(HaveField("Spec.RunStrategy", BeNil()), HaveField("Spec.Running", HaveValue(BeTrue()))))
		Expect(machineOf(ctx, manual)()).To(HaveField("Spec.RunStrategy", HaveValue(Equal(kubevirtv1.RunStrategyManual))))
		Expect(cluster.VM(ctx, client.ObjectKeyFromObject(off))).To(Equal(vm.State{}))
		expectNothingLeft(ctx)
	}, SpecTimeout(3*patience))
})

var _ = Describe("A virtual machine whose migrations fail", func() {
	It("blocks its node after the third, is never stopped, and is released without a trace when the attempt is cancelled", func(ctx SpecContext) {
		failing := run(ctx, vm.Spec{
			Name: "failing", EvictionStrategy: kubevirtv1.EvictionStrategyLiveMigrate, Prefer: nodeOne,
			Asks: map[string]string{hypervisor.MigrationFails: hypervisor.Always},
		})
		mayStop(ctx)
		wanted := upgrade(ctx)
		Eventually(attemptOn(ctx, nodeOne, wanted), 2*patience).Should(HaveField("Status.Message",
			And(ContainSubstring("vms/failing"), ContainSubstring("its migration failed 3 times"))))
		Expect(cluster.VM(ctx, failing.key)).To(And(HaveField("UID", failing.before.UID), HaveField("Node", nodeOne), HaveField("Running()", BeTrue())))

		By("cancelling the attempt")
		attempt, err := attemptOn(ctx, nodeOne, wanted)()
		Expect(err).NotTo(HaveOccurred())
		_, err = cluster.Kubectl(ctx, "--namespace", cluster.Namespace(), "patch", "ehu", attempt.Name, "--type", "merge", "--patch", `{"spec":{"cancel":true}}`)
		Expect(err).NotTo(HaveOccurred())
		Eventually(attemptOn(ctx, nodeOne, wanted)).Should(HaveField("Status.Phase", infrav1.UpgradeAborted))
		Expect(cluster.VM(ctx, failing.key)).To(And(HaveField("UID", failing.before.UID), HaveField("Evacuating", BeEmpty())))
		Eventually(func(g Gomega) {
			migrations, err := vm.Migrations(ctx, cluster.WorkloadKube(), failing.key)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(migrations).To(HaveEach(HaveField("IsFinal()", BeTrue())))
		}).Should(Succeed())
		nodes, err := cluster.Nodes(ctx)
		Expect(err).NotTo(HaveOccurred())
		Expect(nodes).To(ContainElement(And(HaveField("Name", nodeOne), HaveField("Spec.Unschedulable", BeFalse()))))

		By("repairing it, and retrying")
		_, err = cluster.Lab.WorkloadKubectl(ctx, "--namespace", vm.Namespace, "annotate", "virtualmachineinstance", "failing", hypervisor.MigrationFails+"-")
		Expect(err).NotTo(HaveOccurred())
		_, err = cluster.Kubectl(ctx, "--namespace", cluster.Namespace(), "delete", "ehu", attempt.Name)
		Expect(err).NotTo(HaveOccurred())
		Expect(cluster.AwaitImage(ctx, wanted)).To(Succeed())
		Expect(cluster.VM(ctx, failing.key)).To(HaveField("UID", failing.before.UID))
		expectNothingLeft(ctx)
	}, SpecTimeout(5*patience))
})
