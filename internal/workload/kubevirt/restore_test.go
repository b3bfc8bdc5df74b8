// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package kubevirt_test

import (
	"context"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	kubevirtv1 "kubevirt.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/workload/kubevirt"
)

// power is how a VirtualMachine is switched.
type power struct {
	strategy kubevirtv1.VirtualMachineRunStrategy
	running  *bool
}

func powerOf(vm *kubevirtv1.VirtualMachine) power {
	p := power{running: vm.Spec.Running}
	if vm.Spec.RunStrategy != nil {
		p.strategy = *vm.Spec.RunStrategy
	}
	return p
}

func switched(p power) change {
	return vm(func(v *kubevirtv1.VirtualMachine) {
		v.Spec.RunStrategy, v.Spec.Running = nil, p.running
		if p.strategy != "" {
			v.Spec.RunStrategy = &p.strategy
		}
	})
}

// stop makes a virtual machine that is stopped by policy.
func stop(ctx context.Context, policy infrav1.VMPolicy, before power) *world {
	GinkgoHelper()
	w := newWorld(ctx)
	w.policy = policy
	w.add(ctx, "a", notMigratable, switched(before))
	w.evacuate(ctx)
	w.leave(ctx, "a")
	Expect(w.machine(ctx, "a").Annotations).To(HaveKey(infrav1.VMPowerStateAnnotation))
	return w
}

// person changes a VirtualMachine.
func (w *world) person(ctx context.Context, name string, edit func(*kubevirtv1.VirtualMachine)) {
	GinkgoHelper()
	machine := w.machine(ctx, name)
	edit(machine)
	Expect(live.Update(ctx, machine)).To(Succeed())
}

// down is a node that is not Ready.
func down() *corev1.Node {
	found := node(nodeOne)
	found.Status.Conditions[0].Status = corev1.ConditionUnknown
	return found
}

func everything(r *kubevirt.Restoration) { r.All = true }

var _ = DescribeTable("What was stopped gets back what it had",
	func(ctx SpecContext, before power) {
		w := stop(ctx, infrav1.VMPolicyShutdownAndRestore, before)
		for range 3 {
			if w.restore(ctx).Done {
				break
			}
		}
		Expect(w.restore(ctx).Done).To(BeTrue())
		restored := w.machine(ctx, "a")
		Expect(powerOf(restored)).To(Equal(before))
		Expect(restored.Annotations).NotTo(HaveKey(infrav1.VMPowerStateAnnotation))
		Expect(restored.Labels).NotTo(HaveKey(infrav1.VMStoppedLabel))
		requests := restored.Status.StateChangeRequests
		if before.strategy == kubevirtv1.RunStrategyManual {
			Expect(requests).To(HaveExactElements(HaveField("Action", kubevirtv1.StartRequest)), "the strategy alone starts nothing")
			return
		}
		Expect(requests).To(BeEmpty())
	},
	Entry("Always", power{strategy: kubevirtv1.RunStrategyAlways}),
	Entry("RerunOnFailure", power{strategy: kubevirtv1.RunStrategyRerunOnFailure}),
	Entry("Once", power{strategy: kubevirtv1.RunStrategyOnce}),
	Entry("Manual", power{strategy: kubevirtv1.RunStrategyManual}),
	Entry("running", power{running: new(true)}),
)

var _ = Describe("A virtual machine that was stopped", func() {
	always := power{strategy: kubevirtv1.RunStrategyAlways}

	It("stays off by policy, after an upgrade", func(ctx SpecContext) {
		w := stop(ctx, infrav1.VMPolicyShutdown, always)
		Expect(w.restore(ctx).Done).To(BeTrue())
		Expect(powerOf(w.machine(ctx, "a")).strategy).To(Equal(kubevirtv1.RunStrategyHalted))
		Expect(w.machine(ctx, "a").Annotations).NotTo(HaveKey(infrav1.VMPowerStateAnnotation))
	})

	It("comes back where the upgrade did not take place, whatever the policy", func(ctx SpecContext) {
		w := stop(ctx, infrav1.VMPolicyShutdown, always)
		w.restore(ctx, everything)
		Expect(powerOf(w.machine(ctx, "a"))).To(Equal(always))
	})

	It("is left to a person who started it otherwise", func(ctx SpecContext) {
		w := stop(ctx, infrav1.VMPolicyShutdownAndRestore, power{strategy: kubevirtv1.RunStrategyManual})
		w.person(ctx, "a", func(v *kubevirtv1.VirtualMachine) { v.Spec.RunStrategy = new(kubevirtv1.RunStrategyAlways) })
		w.restore(ctx)
		Expect(powerOf(w.machine(ctx, "a"))).To(Equal(always))
		Expect(w.restore(ctx).Done).To(BeTrue())
		Expect(w.machine(ctx, "a").Status.StateChangeRequests).To(BeEmpty())
	})

	It("is left to a person who keeps it off", func(ctx SpecContext) {
		w := stop(ctx, infrav1.VMPolicyShutdownAndRestore, always)
		w.person(ctx, "a", func(v *kubevirtv1.VirtualMachine) {
			delete(v.Annotations, infrav1.VMPowerStateAnnotation)
			delete(v.Labels, infrav1.VMStoppedLabel)
		})
		Expect(w.restore(ctx).Done).To(BeTrue())
		Expect(powerOf(w.machine(ctx, "a")).strategy).To(Equal(kubevirtv1.RunStrategyHalted))
	})

	It("is left to a person who writes it at the same moment", func(ctx SpecContext) {
		w := newWorld(ctx)
		w.policy = infrav1.VMPolicyShutdownAndRestore
		w.add(ctx, "a", notMigratable)
		w.raced = func() {
			w.person(ctx, "a", func(v *kubevirtv1.VirtualMachine) { v.Spec.RunStrategy = new(kubevirtv1.RunStrategyHalted) })
		}
		w.evacuate(ctx)
		Expect(w.machine(ctx, "a").Annotations).NotTo(HaveKey(infrav1.VMPowerStateAnnotation))
		Expect(w.evacuate(ctx).Decisions).To(HaveExactElements(HaveField("Decision", infrav1.VMIgnore)))
		Expect(w.restore(ctx).Done).To(BeTrue())
		Expect(powerOf(w.machine(ctx, "a")).strategy).To(Equal(kubevirtv1.RunStrategyHalted), "what was off stays off")
	})

	It("is started once, also when the write after the start is lost", func(ctx SpecContext) {
		w := stop(ctx, infrav1.VMPolicyShutdownAndRestore, power{strategy: kubevirtv1.RunStrategyManual})
		Expect(w.restore(ctx).Done).To(BeFalse(), "the strategy first")
		Expect(powerOf(w.machine(ctx, "a")).strategy).To(Equal(kubevirtv1.RunStrategyManual))
		w.raced = func() { w.unanswered = true }
		Expect(w.restore(ctx).Held).To(BeTrue())
		w.unanswered = false
		machine := w.machine(ctx, "a")
		Expect(machine.Status.StateChangeRequests).To(HaveLen(1))
		machine.Status.StateChangeRequests, machine.Status.Created = nil, true
		Expect(live.Status().Update(ctx, machine)).To(Succeed())
		w.restore(ctx)
		Expect(w.machine(ctx, "a").Status.StateChangeRequests).To(BeEmpty(), "it runs already")
		Expect(w.restore(ctx).Done).To(BeTrue())
	})

	It("is brought back for its node by whichever attempt", func(ctx SpecContext) {
		w := stop(ctx, infrav1.VMPolicyShutdownAndRestore, always)
		w.restore(ctx, func(r *kubevirt.Restoration) { r.Attempt = "upgrade-b/87654321" })
		Expect(powerOf(w.machine(ctx, "a"))).To(Equal(always))
	})

	DescribeTable("for another attempt on its node", func(ctx SpecContext, policy infrav1.VMPolicy, others bool, expected kubevirtv1.VirtualMachineRunStrategy) {
		w := stop(ctx, policy, always)
		progress := w.restore(ctx, func(r *kubevirt.Restoration) { r.Attempt, r.Others = "m/87654321", others })
		Expect(progress.Done).To(BeTrue())
		Expect(powerOf(w.machine(ctx, "a")).strategy).To(Equal(expected))
		Expect(w.machine(ctx, "a").Annotations).NotTo(HaveKey(infrav1.VMPowerStateAnnotation), "nobody else would bring it back")
	},
		Entry("stays off by policy, where the next upgrade of the node ends", infrav1.VMPolicyShutdown, false, kubevirtv1.RunStrategyHalted),
		Entry("comes back where the node is deleted: the upgrade does not take place", infrav1.VMPolicyShutdown, true, kubevirtv1.RunStrategyAlways),
		Entry("comes back anyway that was to be restored", infrav1.VMPolicyShutdownAndRestore, true, kubevirtv1.RunStrategyAlways),
	)

	It("stays off by the policy of a deletion of its own node", func(ctx SpecContext) {
		w := stop(ctx, infrav1.VMPolicyShutdown, always)
		Expect(w.restore(ctx, func(r *kubevirt.Restoration) { r.Others = true }).Done).To(BeTrue())
		Expect(powerOf(w.machine(ctx, "a")).strategy).To(Equal(kubevirtv1.RunStrategyHalted))
	})

	DescribeTable("is given back when its guest has ended", func(ctx SpecContext, before power, waits bool) {
		w := stop(ctx, infrav1.VMPolicyShutdownAndRestore, before)
		created := func(is bool) {
			machine := w.machine(ctx, "a")
			machine.Status.Created = is
			Expect(live.Status().Update(ctx, machine)).To(Succeed())
		}
		ready := func(r *kubevirt.Restoration) { r.Node = node(nodeOne) }
		created(true)
		w.restore(ctx, ready)
		if waits {
			Expect(powerOf(w.machine(ctx, "a"))).NotTo(Equal(before))
		} else {
			Expect(powerOf(w.machine(ctx, "a"))).To(Equal(before))
		}
		created(false)
		w.restore(ctx, ready)
		Expect(powerOf(w.machine(ctx, "a"))).To(Equal(before))
	},
		Entry("Always: KubeVirt starts it by itself", power{strategy: kubevirtv1.RunStrategyAlways}, false),
		Entry("Manual", power{strategy: kubevirtv1.RunStrategyManual}, true),
		Entry("RerunOnFailure", power{strategy: kubevirtv1.RunStrategyRerunOnFailure}, true),
		Entry("Once", power{strategy: kubevirtv1.RunStrategyOnce}, false),
		Entry("running", power{running: new(true)}, false),
	)

	DescribeTable("is given back although its guest has not ended where that may never be:", func(ctx SpecContext, where *corev1.Node) {
		w := stop(ctx, infrav1.VMPolicyShutdownAndRestore, power{strategy: kubevirtv1.RunStrategyRerunOnFailure})
		machine := w.machine(ctx, "a")
		machine.Status.Created = true
		Expect(live.Status().Update(ctx, machine)).To(Succeed())
		w.restore(ctx, func(r *kubevirt.Restoration) { r.Node = where })
		Expect(powerOf(w.machine(ctx, "a")).strategy).To(Equal(kubevirtv1.RunStrategyRerunOnFailure))
	},
		Entry("its node is down", down()),
		Entry("its node is gone", nil),
	)

	DescribeTable("is left as a person has switched it since, by the other field", func(ctx SpecContext, before, since power) {
		w := stop(ctx, infrav1.VMPolicyShutdownAndRestore, before)
		w.person(ctx, "a", func(v *kubevirtv1.VirtualMachine) {
			v.Spec.Running, v.Spec.RunStrategy = since.running, nil
			if since.strategy != "" {
				v.Spec.RunStrategy = &since.strategy
			}
		})
		w.restore(ctx)
		Expect(w.restore(ctx).Done).To(BeTrue())
		Expect(powerOf(w.machine(ctx, "a"))).To(Equal(since))
		Expect(w.machine(ctx, "a").Annotations).NotTo(HaveKey(infrav1.VMPowerStateAnnotation))
	},
		Entry("a run strategy", power{running: new(true)}, power{strategy: kubevirtv1.RunStrategyAlways}),
		Entry("running", always, power{running: new(true)}),
	)

	DescribeTable("is nothing to wait for once a person has switched it, although its guest runs", func(ctx SpecContext, before, since kubevirtv1.VirtualMachineRunStrategy) {
		w := stop(ctx, infrav1.VMPolicyShutdownAndRestore, power{strategy: before})
		ready := func(r *kubevirt.Restoration) { r.Node = node(nodeOne) }
		if since == kubevirtv1.RunStrategyHalted {
			w.restore(ctx, ready)
			Expect(powerOf(w.machine(ctx, "a")).strategy).To(Equal(before), "only its start is missing")
		}
		w.person(ctx, "a", func(v *kubevirtv1.VirtualMachine) { v.Spec.RunStrategy = &since })
		machine := w.machine(ctx, "a")
		machine.Status.Created = true
		Expect(live.Status().Update(ctx, machine)).To(Succeed())
		Expect(w.restore(ctx, ready).Done).To(BeTrue())
		Expect(powerOf(w.machine(ctx, "a")).strategy).To(Equal(since))
	},
		Entry("on", kubevirtv1.RunStrategyRerunOnFailure, kubevirtv1.RunStrategyAlways),
		Entry("off, before it was started again", kubevirtv1.RunStrategyManual, kubevirtv1.RunStrategyHalted),
	)

	It("is brought back by the attempt that has stopped it, wherever it ran", func(ctx SpecContext) {
		w := stop(ctx, infrav1.VMPolicyShutdownAndRestore, always)
		elsewhere := func(r *kubevirt.Restoration) { r.NodeName = nodeTwo }
		w.restore(ctx, elsewhere)
		Expect(w.restore(ctx, elsewhere).Done).To(BeTrue())
		Expect(powerOf(w.machine(ctx, "a"))).To(Equal(always))
	})

	It("is left alone by the attempt on another node", func(ctx SpecContext) {
		w := stop(ctx, infrav1.VMPolicyShutdownAndRestore, always)
		Expect(w.restore(ctx, func(r *kubevirt.Restoration) { r.Attempt, r.NodeName = "upgrade-b/87654321", nodeTwo }).Done).To(BeTrue())
		Expect(w.machine(ctx, "a").Annotations).To(HaveKey(infrav1.VMPowerStateAnnotation))
	})

	It("is waited for while virt-api does not answer", func(ctx SpecContext) {
		w := stop(ctx, infrav1.VMPolicyShutdownAndRestore, always)
		w.unanswered = true
		Expect(w.restore(ctx)).To(And(HaveField("Held", true), HaveField("Message", ContainSubstring("virt-api of KubeVirt does not answer"))))
		w.unanswered = false
		w.restore(ctx)
		Expect(w.restore(ctx).Done).To(BeTrue())
	})

	It("is named where its record cannot be read", func(ctx SpecContext) {
		w := stop(ctx, infrav1.VMPolicyShutdownAndRestore, always)
		w.person(ctx, "a", func(v *kubevirtv1.VirtualMachine) { v.Annotations[infrav1.VMPowerStateAnnotation] = "on" })
		Expect(w.restore(ctx).Done).To(BeTrue(), "it is nobody's, and holds nobody")
		w.person(ctx, "a", func(v *kubevirtv1.VirtualMachine) { v.Annotations[infrav1.VMPowerStateAnnotation] = "on node-1" })
		unread := HaveField("Message", HavePrefix("VirtualMachine "+w.namespace+"/a has an annotation "+infrav1.VMPowerStateAnnotation+" that cannot be read"))
		Expect(w.restore(ctx)).To(unread)
		elsewhere := func(r *kubevirt.Restoration) { r.Node, r.NodeName = nil, nodeTwo }
		Expect(w.restore(ctx, elsewhere).Done).To(BeTrue(), "it is another node's")
		Expect(w.restore(ctx, elsewhere, func(r *kubevirt.Restoration) { r.NodeName, r.Attempt = "", "" }).Done).To(BeTrue(), "it is not everybody's")
		w.person(ctx, "a", func(v *kubevirtv1.VirtualMachine) { v.Annotations[infrav1.VMPowerStateAnnotation] = "by " + attempt })
		Expect(w.restore(ctx, elsewhere)).To(unread)
	})

	It("is left alone while it is deleted", func(ctx SpecContext) {
		w := stop(ctx, infrav1.VMPolicyShutdownAndRestore, always)
		w.person(ctx, "a", func(v *kubevirtv1.VirtualMachine) {
			v.Finalizers = []string{"kubevirt.io/virtualMachineControllerFinalize"}
		})
		Expect(live.Delete(ctx, w.machine(ctx, "a"))).To(Succeed())
		Expect(w.restore(ctx).Done).To(BeTrue())
		Expect(w.machine(ctx, "a").Annotations).To(HaveKey(infrav1.VMPowerStateAnnotation))
		w.person(ctx, "a", func(v *kubevirtv1.VirtualMachine) { v.Finalizers = nil })
	})
})

var _ = Describe("A cancelled evacuation", func() {
	It("leaves no mark, no migration, and every virtual machine running", func(ctx SpecContext) {
		w := newWorld(ctx)
		w.policy = infrav1.VMPolicyShutdownAndRestore
		w.add(ctx, "evicted")
		w.add(ctx, "own", strategy(kubevirtv1.EvictionStrategyNone))
		w.evacuate(ctx)
		Expect(w.migrations(ctx)).To(HaveLen(1))
		theirs := &kubevirtv1.VirtualMachineInstanceMigration{ObjectMeta: w.meta("kubevirt-evacuation-x"),
			Spec: kubevirtv1.VirtualMachineInstanceMigrationSpec{VMIName: "evicted"}}
		theirs.Annotations = map[string]string{kubevirtv1.EvacuationMigrationAnnotation: nodeOne}
		persons := &kubevirtv1.VirtualMachineInstanceMigration{ObjectMeta: w.meta("by-hand"),
			Spec: kubevirtv1.VirtualMachineInstanceMigrationSpec{VMIName: "other"}}
		Expect(live.Create(ctx, theirs)).To(Succeed())
		Expect(live.Create(ctx, persons)).To(Succeed())

		Expect(w.cancel(ctx).Done).To(BeTrue())
		Expect(w.instance(ctx, "evicted").Status.EvacuationNodeName).To(BeEmpty())
		Expect(w.migrations(ctx)).To(HaveExactElements(HaveField("Name", "by-hand")))
		Expect(powerOf(w.machine(ctx, "own")).strategy).To(Equal(kubevirtv1.RunStrategyAlways))
		Expect(w.cancel(ctx).Done).To(BeTrue())
		Expect(w.calls["cancel"]).To(Equal(1), "there is nothing left to clear")
	})

	It("leaves the mark where KubeVirt does not let it be cleared", func(ctx SpecContext) {
		w := newWorld(ctx)
		w.add(ctx, "a")
		w.evacuate(ctx)
		w.observe(ctx, "v1.6.0")
		Expect(w.cancel(ctx).Done).To(BeTrue())
		Expect(w.instance(ctx, "a").Status.EvacuationNodeName).To(Equal(nodeOne))
		w.observe(ctx, "v1.8.3")
		w.cancel(ctx)
		Expect(w.instance(ctx, "a").Status.EvacuationNodeName).To(BeEmpty())
	})

	DescribeTable("leaves a mark", func(ctx SpecContext, canceller kubevirt.Canceller, fails bool) {
		w := newWorld(ctx)
		w.add(ctx, "a")
		w.evacuate(ctx)
		evacuation := w.evacuation(ctx)
		evacuation.Canceller = canceller
		progress, err := kubevirt.Cancel(ctx, evacuation)
		if fails {
			Expect(err).To(MatchError("cancelling the evacuation of VirtualMachineInstance " + w.namespace + "/a: " + errReset.Error()))
			return
		}
		Expect(err).NotTo(HaveOccurred())
		Expect(progress.Done).To(BeTrue())
	},
		Entry("that KubeVirt keeps", answering(forbidden), false),
		Entry("of an instance that is gone", answering(gone), false),
		Entry("where nothing can clear it", nil, false),
		Entry("while its API server fails, and is asked again", answering(errReset), true),
	)

	It("asks for no deletion of what is being deleted", func(ctx SpecContext) {
		w := newWorld(ctx)
		w.add(ctx, "own", strategy(kubevirtv1.EvictionStrategyNone))
		w.evacuate(ctx)
		migration := w.migrations(ctx)[0]
		migration.Finalizers = []string{"kubevirt.io/migrationJobFinalize"}
		Expect(live.Update(ctx, &migration)).To(Succeed())
		Expect(live.Delete(ctx, &migration)).To(Succeed())
		Expect(w.cancel(ctx).Done).To(BeTrue())
		Expect(w.calls["delete"]).To(BeZero())
		Expect(live.Get(ctx, client.ObjectKeyFromObject(&migration), &migration)).To(Succeed())
		migration.Finalizers = nil
		Expect(live.Update(ctx, &migration)).To(Succeed())
	})

	It("waits for a virt-api that does not answer", func(ctx SpecContext) {
		w := newWorld(ctx)
		w.add(ctx, "a")
		w.evacuate(ctx)
		w.unanswered = true
		Expect(w.cancel(ctx).Held).To(BeTrue())
		w.unanswered = false
		Expect(w.cancel(ctx).Done).To(BeTrue())
	})
})

// answering gives each call this answer.
func answering(err error) kubevirt.Canceller {
	return func(context.Context, client.ObjectKey, string) error { return err }
}
