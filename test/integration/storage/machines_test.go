// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package storage_test

import (
	"context"
	"fmt"
	"slices"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	kubevirtv1 "kubevirt.io/api/core/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/kubevirt/hypervisor"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/kubevirt/vm"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/scenario"
)

var _ = Describe("A Machine that is deleted", func() {
	var (
		key     client.ObjectKey
		before  vm.State
		machine *clusterv1.Machine
	)

	// run creates a virtual machine, and finds the Machine of its Node.
	run := func(ctx context.Context, spec vm.Spec) {
		GinkgoHelper()
		nodes := nodeNames(ctx)
		if spec.Require == "" {
			spec.Prefer = nodes[0]
		}
		var err error
		before, err = cluster.CreateVM(ctx, spec)
		Expect(err).NotTo(HaveOccurred())
		key = client.ObjectKey{Namespace: vm.Namespace, Name: spec.Name}
		DeferCleanup(func(ctx SpecContext) {
			object := &kubevirtv1.VirtualMachine{}
			object.Namespace, object.Name = key.Namespace, key.Name
			Expect(client.IgnoreNotFound(theLab.WorkloadKube.Delete(ctx, object))).To(Succeed())
		})
		machines, err := cluster.Machines(ctx)
		Expect(err).NotTo(HaveOccurred())
		index := slices.IndexFunc(machines, func(m clusterv1.Machine) bool { return m.Status.NodeRef.Name == before.Node })
		Expect(index).To(BeNumerically(">=", 0))
		machine = &machines[index]
		Eventually(hook).WithContext(ctx).WithArguments(machine).Should(BeTrue(), "a Machine with KubeVirt carries the hook")
	}
	// remove deletes the Machine, which its MachineSet replaces.
	remove := func(ctx context.Context) {
		GinkgoHelper()
		_, err := cluster.Kubectl(ctx, "--namespace", machine.Namespace, "delete", "machine", machine.Name, "--wait=false")
		Expect(err).NotTo(HaveOccurred())
	}
	gone := func(ctx context.Context) (bool, error) {
		err := theLab.Kube.Get(ctx, client.ObjectKeyFromObject(machine), &clusterv1.Machine{})
		return err != nil, client.IgnoreNotFound(err)
	}
	// whole waits until there are as many Machines as before.
	whole := func(ctx context.Context) {
		GinkgoHelper()
		Eventually(gone).WithContext(ctx).Should(BeTrue())
		Expect(cluster.AwaitWorkers(ctx)).To(Succeed())
	}
	state := func(ctx context.Context) (vm.State, error) { return cluster.VM(ctx, key) }

	It("has its virtual machines migrated first, and none restarts", func(ctx SpecContext) {
		run(ctx, vm.Spec{Name: "moves", EvictionStrategy: kubevirtv1.EvictionStrategyLiveMigrate})
		remove(ctx)
		whole(ctx)
		Expect(state(ctx)).To(And(HaveField("UID", before.UID), HaveField("Node", Not(Equal(before.Node))), HaveField("Running()", BeTrue())))
	}, SpecTimeout(2*patience))

	It("by a scale-down waits in the same way, and leaves no hook behind", func(ctx SpecContext) {
		run(ctx, vm.Spec{Name: "outlives", EvictionStrategy: kubevirtv1.EvictionStrategyLiveMigrate, Asks: map[string]string{
			hypervisor.MigrationHangs: hypervisor.HangSource,
		}})
		_, err := cluster.Kubectl(ctx, "--namespace", machine.Namespace, "annotate", "machine", machine.Name, clusterv1.DeleteMachineAnnotation+"=")
		Expect(err).NotTo(HaveOccurred())
		scale(ctx, 2)
		DeferCleanup(func(ctx SpecContext) {
			scale(ctx, 3)
			Expect(cluster.AwaitWorkers(ctx)).To(Succeed())
		}, NodeTimeout(2*patience))
		Eventually(evacuating).WithContext(ctx).WithArguments(machine).Should(ContainSubstring("waiting for 1 virtual machine to leave Node " + before.Node))
		Consistently(hook).WithContext(ctx).WithArguments(machine).Should(BeTrue(), "Cluster API waits")
		Expect(state(ctx)).To(And(HaveField("UID", before.UID), HaveField("Node", before.Node), HaveField("Running()", BeTrue())))

		By("allowing it to migrate")
		_, err = theLab.WorkloadKubectl(ctx, "--namespace", key.Namespace, "annotate", "virtualmachineinstance", key.Name, hypervisor.MigrationHangs+"-")
		Expect(err).NotTo(HaveOccurred())
		Eventually(gone).WithContext(ctx).Should(BeTrue())
		Expect(cluster.Machines(ctx)).To(HaveLen(2))
		Expect(state(ctx)).To(And(HaveField("UID", before.UID), HaveField("Node", Not(Equal(before.Node))), HaveField("Running()", BeTrue())))
	}, SpecTimeout(2*patience))

	It("waits for one that cannot be migrated, reports which, and is deleted when a person has dealt with it", func(ctx SpecContext) {
		run(ctx, vm.Spec{Name: "stays", Asks: map[string]string{hypervisor.NotMigratable: "DisksNotLiveMigratable"}})
		remove(ctx)
		Eventually(evacuating).WithContext(ctx).WithArguments(machine).Should(And(HavePrefix(infrav1.EvacuationHeldReason), ContainSubstring("stays")))
		Consistently(state).WithContext(ctx).Should(Equal(before))
		config, err := theLab.Workload.RESTConfig("lab")
		Expect(err).NotTo(HaveOccurred())
		Expect(vm.Stop(ctx, config, key)).To(Succeed())
		whole(ctx)
	}, SpecTimeout(2*patience))

	It("has one that cannot be migrated restarted on another node immediately, if the policy says so", func(ctx SpecContext) {
		Expect(cluster.PatchUpgradeOption(ctx, `{"vmPolicy":"ShutdownAndRestore"}`)).To(Succeed())
		DeferCleanup(func(ctx SpecContext) error { return cluster.PatchUpgradeOption(ctx, `{"vmPolicy":null}`) })
		run(ctx, vm.Spec{Name: "restarts", Asks: map[string]string{hypervisor.NotMigratable: "DisksNotLiveMigratable"}})
		remove(ctx)
		Eventually(state).WithContext(ctx).Should(And(HaveField("Running()", BeTrue()), HaveField("Node", Not(Equal(before.Node)))))
		whole(ctx)
		stored := &kubevirtv1.VirtualMachine{}
		Expect(theLab.WorkloadKube.Get(ctx, key, stored)).To(Succeed())
		Expect(stored.Spec.RunStrategy).To(HaveValue(Equal(kubevirtv1.RunStrategyAlways)))
		Expect(stored.Annotations).NotTo(HaveKey(infrav1.VMPowerStateAnnotation))
	}, SpecTimeout(2*patience))

	It("is deleted without delay when its node is dead", func(ctx SpecContext) {
		run(ctx, vm.Spec{Name: "dies", Asks: map[string]string{hypervisor.NotMigratable: "DisksNotLiveMigratable"}})
		host := theLab.Host(before.Node)
		Expect(host.PowerOff(ctx)).To(Succeed())
		remove(ctx)
		Eventually(gone).WithContext(ctx).Should(BeTrue())
		Expect(host.PowerOn(ctx)).To(Succeed())
		whole(ctx)
	}, SpecTimeout(2*patience))
})

// scale changes the replicas of the pool.
func scale(ctx context.Context, to int) {
	GinkgoHelper()
	_, err := cluster.Kubectl(ctx, "--namespace", cluster.Namespace(), "scale", "machinedeployment", scenario.Deployment, fmt.Sprintf("--replicas=%d", to))
	Expect(err).NotTo(HaveOccurred())
}

// hook reports whether the Machine has our deletion hook.
func hook(ctx context.Context, machine *clusterv1.Machine) (bool, error) {
	stored := &clusterv1.Machine{}
	err := theLab.Kube.Get(ctx, client.ObjectKeyFromObject(machine), stored)
	_, has := stored.Annotations[infrav1.PreDrainHookAnnotation]
	return has, err
}

// evacuating is what the deletion of the Machine waits for.
func evacuating(ctx context.Context, machine *clusterv1.Machine) (string, error) {
	own := &infrav1.ElementalMachine{}
	err := theLab.Kube.Get(ctx, client.ObjectKey{Namespace: machine.Namespace, Name: machine.Spec.InfrastructureRef.Name}, own)
	for _, condition := range own.Status.Conditions {
		if condition.Type == infrav1.EvacuatingCondition {
			return condition.Reason + ": " + condition.Message, err
		}
	}
	return "", err
}
