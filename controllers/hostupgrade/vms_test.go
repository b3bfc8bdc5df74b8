// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package hostupgrade_test

import (
	"context"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kubevirtv1 "kubevirt.io/api/core/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/kubevirt/kinds"
)

const isLocal = "VirtualMachineInstance NAMESPACE/db is not live-migratable: DisksNotLiveMigratable: disk x is local"

func byVMPolicy(policy infrav1.VMPolicy) infrav1.NodeUpgradeOption {
	return infrav1.NodeUpgradeOption{VMPolicy: policy}
}

// addVM makes a virtual machine that cannot be migrated, on the world's Node.
func addVM(ctx context.Context, w *world) {
	GinkgoHelper()
	vm := &kubevirtv1.VirtualMachine{ObjectMeta: w.meta("db")}
	vm.Spec.RunStrategy = new(kubevirtv1.RunStrategyRerunOnFailure)
	Expect(live.Create(ctx, vm)).To(Succeed())
	instance := &kubevirtv1.VirtualMachineInstance{ObjectMeta: w.meta("db")}
	instance.Labels = map[string]string{kubevirtv1.NodeNameLabel: w.host}
	instance.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(vm, kubevirtv1.VirtualMachineGroupVersionKind)}
	instance.Status = kubevirtv1.VirtualMachineInstanceStatus{
		Phase: kubevirtv1.Running, NodeName: w.host,
		Conditions: []kubevirtv1.VirtualMachineInstanceCondition{{
			Type: kubevirtv1.VirtualMachineInstanceIsMigratable, Status: corev1.ConditionFalse,
			Reason: kubevirtv1.VirtualMachineInstanceReasonDisksNotMigratable, Message: "disk x is local",
		}},
	}
	Expect(live.Create(ctx, instance)).To(Succeed())
}

// playVM plays virt-controller: what is halted stops.
func playVM(ctx context.Context, w *world) {
	GinkgoHelper()
	vm := get(ctx, w, "db", &kubevirtv1.VirtualMachine{})
	if vm != nil && *vm.Spec.RunStrategy == kubevirtv1.RunStrategyHalted {
		instance := &kubevirtv1.VirtualMachineInstance{ObjectMeta: w.meta("db")}
		Expect(client.IgnoreNotFound(live.Delete(ctx, instance))).To(Succeed())
	}
}

// driveVMs is drive in a world whose virt-controller is played, to its end or until the condition holds.
func (w *world) driveVMs(ctx context.Context, until func() bool) {
	GinkgoHelper()
	w.drive(ctx, func() bool {
		playVM(ctx, w)
		return until != nil && until()
	})
}

func (w *world) isAt(ctx context.Context, step string) func() bool {
	return func() bool { return w.status(ctx).Step == step }
}

// strategyOf is how the virtual machine is switched, and whether it is marked.
func (w *world) strategyOf(ctx context.Context) (kubevirtv1.VirtualMachineRunStrategy, bool) {
	GinkgoHelper()
	vm := get(ctx, w, "db", &kubevirtv1.VirtualMachine{})
	_, marked := vm.Annotations[infrav1.VMPowerStateAnnotation]
	return *vm.Spec.RunStrategy, marked
}

var _ = Describe("An upgrade of a node with virtual machines", Ordered, func() {
	BeforeAll(func(ctx SpecContext) {
		Expect(kinds.Install(ctx, live)).To(Succeed())
		DeferCleanup(func(ctx SpecContext) error { return kinds.Uninstall(ctx, live) })
	})

	const was, halted = kubevirtv1.RunStrategyRerunOnFailure, kubevirtv1.RunStrategyHalted

	// stopped leads an attempt to where its virtual machine is off, and the drain is held up.
	stopped := func(ctx context.Context, policy infrav1.VMPolicy) *world {
		GinkgoHelper()
		w := newWorld(ctx, byVMPolicy(policy))
		addVM(ctx, w)
		guardPod(ctx, w)
		w.driveVMs(ctx, w.isAt(ctx, "Drain"))
		strategy, marked := w.strategyOf(ctx)
		Expect(strategy).To(Equal(halted))
		Expect(marked).To(BeTrue())
		return w
	}

	It("holds, and names one that cannot leave, until it has", func(ctx SpecContext) {
		w := newWorld(ctx, infrav1.NodeUpgradeOption{})
		addVM(ctx, w)
		w.drive(ctx, nil)
		Expect(w.status(ctx).Position()).To(Equal("EvacuateVMs (6/14)"))
		Expect(w.status(ctx).Message).To(Equal(w.inWords(isLocal)))
		Expect(w.status(ctx).VirtualMachines).To(HaveExactElements(HaveField("Decision", infrav1.VMBlock)))
		w.clock.SetTime(w.clock.Now().Add(61 * time.Minute))
		w.rest(ctx)
		Expect(w.status(ctx).Message).To(HavePrefix(w.inWords(isLocal) + " (for longer than 1h0m0s): migrate or stop what is left"))

		By("a person who stops it")
		change(ctx, w, "db", &kubevirtv1.VirtualMachine{}, func(vm *kubevirtv1.VirtualMachine) { vm.Spec.RunStrategy = new(halted) })
		w.driveVMs(ctx, nil)
		Expect(w.marks(ctx)).To(Equal(clean))
		strategy, _ := w.strategyOf(ctx)
		Expect(strategy).To(Equal(halted), "what a person has stopped stays off")
		Expect(w.status(ctx).VirtualMachines).To(HaveExactElements(And(
			HaveField("Decision", infrav1.VMIgnore), HaveField("Reason", "has left the node"))))
	})

	DescribeTable("brings back what it has stopped",
		func(ctx SpecContext, policy infrav1.VMPolicy, then func(context.Context, *world), phase infrav1.UpgradePhase, expected kubevirtv1.VirtualMachineRunStrategy) {
			w := stopped(ctx, policy)
			then(ctx, w)
			w.driveVMs(ctx, nil)
			if upgrade := get(ctx, w, w.upgrade, &infrav1.ElementalHostUpgrade{}); upgrade != nil || phase != "" {
				Expect(upgrade.Status.Phase).To(Equal(phase))
			}
			strategy, marked := w.strategyOf(ctx)
			Expect(strategy).To(Equal(expected))
			Expect(marked).To(BeFalse(), "no record is left")
		},
		Entry("when it succeeds", infrav1.VMPolicyShutdownAndRestore, allowEviction, infrav1.UpgradeSucceeded, was),
		Entry("when it succeeds, but not what is to stay off", infrav1.VMPolicyShutdown, allowEviction, infrav1.UpgradeSucceeded, halted),
		Entry("when it rolls back", infrav1.VMPolicyShutdownAndRestore, func(ctx context.Context, w *world) {
			fallBack(ctx, w)
			allowEviction(ctx, w)
		}, infrav1.UpgradeRolledBack, was),
		Entry("when it fails", infrav1.VMPolicyShutdown, func(ctx context.Context, w *world) {
			failAt(infrav1.HostUpgradeRebooting)(ctx, w)
			allowEviction(ctx, w)
		}, infrav1.UpgradeFailed, was),
		Entry("when it is cancelled", infrav1.VMPolicyShutdown, cancel, infrav1.UpgradeAborted, was),
		Entry("when it is superseded", infrav1.VMPolicyShutdown, wantOther, infrav1.UpgradeSuperseded, was),
		Entry("when its Machine is deleted", infrav1.VMPolicyShutdownAndRestore, func(ctx context.Context, w *world) {
			Expect(live.Delete(ctx, get(ctx, w, w.host, &clusterv1.Machine{}))).To(Succeed())
		}, infrav1.UpgradeAborted, was),
		Entry("when its Machine is deleted right after a move, before its workload cluster answers", infrav1.VMPolicyShutdownAndRestore, func(ctx context.Context, w *world) {
			w.answer(ctx, w.depart(ctx, nil))
			w.connector.unreachable = true
			Expect(live.Delete(ctx, get(ctx, w, w.host, &clusterv1.Machine{}))).To(Succeed())
			w.rest(ctx)
			Expect(w.status(ctx).Message).To(ContainSubstring("cannot reach workload cluster " + clusterName + ": "))
			w.connector.unreachable = false
		}, infrav1.UpgradeAborted, was),
		Entry("when it is deleted", infrav1.VMPolicyShutdownAndRestore, func(ctx context.Context, w *world) {
			Expect(live.Delete(ctx, get(ctx, w, w.upgrade, &infrav1.ElementalHostUpgrade{}))).To(Succeed())
		}, infrav1.UpgradePhase(""), was),
	)

	It("says of a host that is lost what stays off", func(ctx SpecContext) {
		w := stopped(ctx, infrav1.VMPolicyShutdownAndRestore)
		w.agent.stopAt = infrav1.HostUpgradeRebooting
		allowEviction(ctx, w)
		w.driveVMs(ctx, func() bool { return w.status(ctx).Message == w.inWords("ElementalHost HOST is rebooting") })
		w.clock.SetTime(w.clock.Now().Add(31 * time.Minute))
		w.driveVMs(ctx, nil)
		Expect(w.status(ctx).Phase).To(Equal(infrav1.UpgradeHostLost))
		Expect(w.status(ctx).Message).To(HaveSuffix(w.inWords("; virtual machines that were shut down for it stay off: NAMESPACE/db")))
		_, marked := w.strategyOf(ctx)
		Expect(marked).To(BeTrue())

		By("its return")
		w.agent.stopAt = ""
		w.driveVMs(ctx, nil)
		strategy, marked := w.strategyOf(ctx)
		Expect(strategy).To(Equal(was))
		Expect(marked).To(BeFalse())
	})

	It("brings it back whichever write its controller dies after", Label("restart"), func(ctx SpecContext) {
		const enough = 60
		for writes := 0; ; writes++ {
			Expect(writes).To(BeNumerically("<", enough))
			w := newWorld(ctx, byVMPolicy(infrav1.VMPolicyShutdownAndRestore))
			addVM(ctx, w)
			w.driveVMs(ctx, w.isAt(ctx, "Prefetch"))
			w.faults.dieAfter = w.faults.count + writes
			w.driveVMs(ctx, nil)
			Expect(w.marks(ctx)).To(Equal(clean), "dying after %d writes", writes)
			strategy, marked := w.strategyOf(ctx)
			Expect(strategy).To(Equal(was))
			Expect(marked).To(BeFalse())
			if !w.faults.disturbed {
				return
			}
			removeClusterScoped(ctx)
		}
	})

	It("leaves alone what the next attempt on the same host has stopped", func(ctx SpecContext) {
		w := stopped(ctx, infrav1.VMPolicyShutdownAndRestore)
		former := &infrav1.ElementalHostUpgrade{ObjectMeta: w.meta("former")}
		former.Spec = get(ctx, w, w.upgrade, &infrav1.ElementalHostUpgrade{}).Spec
		former.Finalizers = []string{infrav1.ElementalHostUpgradeFinalizer}
		Expect(live.Create(ctx, former)).To(Succeed())
		former.Status.Phase = infrav1.UpgradeSucceeded
		Expect(live.Status().Update(ctx, former)).To(Succeed())
		Expect(live.Delete(ctx, former)).To(Succeed())
		for range 3 {
			_, err := w.reconcileNamed(ctx, "former")
			Expect(err).NotTo(HaveOccurred())
		}
		Expect(get(ctx, w, "former", &infrav1.ElementalHostUpgrade{})).To(BeNil())
		strategy, marked := w.strategyOf(ctx)
		Expect(strategy).To(Equal(halted))
		Expect(marked).To(BeTrue())
	})
})
