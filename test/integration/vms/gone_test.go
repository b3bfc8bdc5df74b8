// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package vms_test

import (
	"context"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kubevirtv1 "kubevirt.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/kubevirt/hypervisor"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/kubevirt/vm"
)

// hanging makes migrations hang until the annotation is removed.
var hanging = map[string]string{hypervisor.MigrationHangs: hypervisor.HangSource}

// migrationOf is the unfinished migration of a virtual machine; an empty one if there is none.
func migrationOf(ctx context.Context, key client.ObjectKey) func() (kubevirtv1.VirtualMachineInstanceMigration, error) {
	return func() (kubevirtv1.VirtualMachineInstanceMigration, error) {
		migrations, err := vm.Migrations(ctx, cluster.WorkloadKube(), key)
		for i := range migrations {
			if !migrations[i].IsFinal() {
				return migrations[i], err
			}
		}
		return kubevirtv1.VirtualMachineInstanceMigration{}, err
	}
}

// moveWhenAsked simulates the external controller that is responsible for a virtual machine with
// evictionStrategy External.
func moveWhenAsked(ctx context.Context, key client.ObjectKey) error {
	state, err := cluster.VM(ctx, key)
	if err != nil || state.Evacuating == "" {
		return err
	}
	if migration, err := migrationOf(ctx, key)(); err != nil || migration.Name != "" {
		return err
	}
	return cluster.WorkloadKube().Create(ctx, &kubevirtv1.VirtualMachineInstanceMigration{
		ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, GenerateName: "external-"},
		Spec:       kubevirtv1.VirtualMachineInstanceMigrationSpec{VMIName: key.Name},
	})
}

var _ = Describe("A virtual machine whose evictionStrategy is External", func() {
	It("is waited for until its own controller has migrated it, and is never killed", func(ctx SpecContext) {
		mayStop(ctx)
		external := run(ctx, vm.Spec{Name: "external", EvictionStrategy: kubevirtv1.EvictionStrategyExternal, Prefer: nodeOne})
		wanted := upgrade(ctx)
		Eventually(attemptOn(ctx, nodeOne, wanted)).Should(HaveField("Status", And(
			HaveField("Step", "EvacuateVMs"),
			HaveField("VirtualMachines", ConsistOf(decisionOf(external, infrav1.VMMigrate, "evictionStrategy External: its own controller has to move it"))))))
		asked := external.before
		asked.Evacuating = nodeOne
		Eventually(stateOf(ctx, external.key)).Should(Equal(asked), "its controller is told")
		Consistently(stateOf(ctx, external.key), calm).Should(Equal(asked), "nobody else touches it")
		Expect(attemptOn(ctx, nodeOne, wanted)()).To(HaveField("Status.Step", "EvacuateVMs"))

		By("its controller migrating it from every node that is drained")
		Eventually(func(g Gomega) {
			g.Expect(moveWhenAsked(ctx, external.key)).To(Succeed())
			for _, node := range []string{nodeOne, nodeTwo, nodeThree} {
				g.Expect(attemptOn(ctx, node, wanted)()).To(HaveField("Status.Phase", infrav1.UpgradeSucceeded), node)
			}
		}, 2*patience).Should(Succeed())
		Expect(cluster.AwaitImage(ctx, wanted)).To(Succeed())
		Expect(cluster.VM(ctx, external.key)).To(And(HaveField("UID", external.before.UID), HaveField("Running()", BeTrue())))
		expectNothingLeft(ctx)
	}, SpecTimeout(5*patience))
})

var _ = Describe("In the middle of an evacuation", func() {
	It("a virtual machine that is deleted is skipped, and one whose target loses power is migrated again and never stopped", func(ctx SpecContext) {
		mayStop(ctx)
		guests := map[string]guest{}
		for _, name := range []string{"deleted", "spared"} {
			guests[name] = run(ctx, vm.Spec{Name: name, EvictionStrategy: kubevirtv1.EvictionStrategyLiveMigrate, Prefer: nodeOne, Asks: hanging})
		}
		deleted, spared := guests["deleted"], guests["spared"]
		wanted := upgrade(ctx)
		for _, g := range guests {
			Eventually(migrationOf(ctx, g.key), 2*patience).Should(HaveField("Status.Phase", kubevirtv1.MigrationRunning), g.key.Name)
		}
		Expect(cluster.WorkloadKube().Delete(ctx, vm.New(vm.Spec{Name: "deleted"}))).To(Succeed())
		Eventually(stateOf(ctx, deleted.key)).Should(Equal(vm.State{}))

		instance := &kubevirtv1.VirtualMachineInstance{}
		Expect(cluster.WorkloadKube().Get(ctx, spared.key, instance)).To(Succeed())
		Expect(instance.Status.MigrationState).To(HaveField("TargetNode", BeElementOf(nodeTwo, nodeThree)))
		target := cluster.Lab.Host(instance.Status.MigrationState.TargetNode)
		Expect(target.PowerOff(ctx)).To(Succeed())
		Eventually(func() ([]kubevirtv1.VirtualMachineInstanceMigration, error) {
			return vm.Migrations(ctx, cluster.WorkloadKube(), spared.key)
		}).Should(ContainElement(HaveField("Status.Phase", kubevirtv1.MigrationFailed)))
		Consistently(stateOf(ctx, spared.key), calm).Should(And(
			HaveField("UID", spared.before.UID), HaveField("Node", nodeOne), HaveField("Running()", BeTrue())))
		Expect(machineOf(ctx, spared)()).To(HaveField("Annotations", Not(HaveKey(infrav1.VMPowerStateAnnotation))))

		By("restoring the power, and unblocking migrations")
		Expect(target.PowerOn(ctx)).To(Succeed())
		_, err := cluster.Lab.WorkloadKubectl(ctx, "--namespace", vm.Namespace, "annotate", "virtualmachineinstance", "spared", hypervisor.MigrationHangs+"-")
		Expect(err).NotTo(HaveOccurred())
		Expect(cluster.AwaitImage(ctx, wanted)).To(Succeed())
		Expect(cluster.VM(ctx, spared.key)).To(And(HaveField("UID", spared.before.UID), HaveField("Running()", BeTrue())))
		Expect(attemptOn(ctx, nodeOne, wanted)()).To(HaveField("Status.VirtualMachines", ContainElement(
			decisionOf(deleted, infrav1.VMMigrate, "is live-migratable, evictionStrategy LiveMigrate"))))
		expectNothingLeft(ctx)
	}, SpecTimeout(5*patience))
})
