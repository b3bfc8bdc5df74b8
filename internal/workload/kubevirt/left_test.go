// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package kubevirt_test

import (
	"context"
	"fmt"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	kubevirtv1 "kubevirt.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/workload/kubevirt"
)

// migrating makes a migration from a node; by: the attempt of ours that made it, empty for one of KubeVirt's.
func (w *world) migrating(ctx context.Context, name, from, by string, phase kubevirtv1.VirtualMachineInstanceMigrationPhase) {
	GinkgoHelper()
	m := &kubevirtv1.VirtualMachineInstanceMigration{ObjectMeta: w.meta(name), Spec: kubevirtv1.VirtualMachineInstanceMigrationSpec{VMIName: name}}
	m.Annotations = map[string]string{kubevirtv1.EvacuationMigrationAnnotation: from}
	m.Labels = map[string]string{kubevirtv1.MigrationSelectorLabel: name} // as virt-api does
	if by != "" {
		m.Labels[infrav1.EvacuationLabel] = "true"
		m.Annotations[infrav1.EvacuatedByAnnotation] = by
	}
	Expect(live.Create(ctx, m)).To(Succeed())
	m.Status.Phase = phase
	Expect(live.Status().Update(ctx, m)).To(Succeed())
}

func (w *world) migrationNames(ctx context.Context) []string {
	GinkgoHelper()
	names := []string{}
	for _, m := range w.migrations(ctx) {
		names = append(names, m.Name)
	}
	return names
}

var _ = Describe("What an evacuation leaves", func() {
	const another = "upgrade-b/87654321"

	It("is deleted when it is cancelled: what has not ended, and all of ours, for the node", func(ctx SpecContext) {
		w := newWorld(ctx)
		w.migrating(ctx, "ended", nodeOne, "", kubevirtv1.MigrationSucceeded)
		w.migrating(ctx, "elsewhere", nodeTwo, "", kubevirtv1.MigrationRunning)
		w.migrating(ctx, "ours-elsewhere", nodeTwo, another, kubevirtv1.MigrationRunning)
		w.migrating(ctx, "theirs", nodeOne, "", kubevirtv1.MigrationRunning)
		w.migrating(ctx, "ours-before", nodeOne, another, kubevirtv1.MigrationFailed)
		w.migrating(ctx, "ours", nodeTwo, attempt, kubevirtv1.MigrationFailed)
		Expect(w.cancel(ctx).Done).To(BeTrue())
		Expect(w.migrationNames(ctx)).To(ConsistOf("ended", "elsewhere", "ours-elsewhere"))
	})

	It("is deleted when virtual machines are brought back, if it is ours", func(ctx SpecContext) {
		w := newWorld(ctx)
		w.migrating(ctx, "elsewhere", nodeTwo, another, kubevirtv1.MigrationRunning)
		w.migrating(ctx, "theirs", nodeOne, "", kubevirtv1.MigrationRunning)
		w.migrating(ctx, "before", nodeOne, another, kubevirtv1.MigrationFailed)
		w.migrating(ctx, "ours", nodeOne, attempt, kubevirtv1.MigrationFailed)
		Expect(w.restore(ctx, func(r *kubevirt.Restoration) { r.Node = nil }).Done).To(BeTrue(), "also where the node is gone")
		Expect(w.migrationNames(ctx)).To(ConsistOf("elsewhere", "theirs"))
	})

	It("is not deleted for an attempt whose Machine had no Node, if it is another's", func(ctx SpecContext) {
		w := newWorld(ctx)
		w.migrating(ctx, "another", "", another, kubevirtv1.MigrationRunning)
		w.migrating(ctx, "ours", "", attempt, kubevirtv1.MigrationFailed)
		Expect(w.restore(ctx, func(r *kubevirt.Restoration) { r.Node, r.NodeName = nil, "" }).Done).To(BeTrue())
		Expect(w.migrationNames(ctx)).To(ConsistOf("another"))
	})

	It("is deleted where KubeVirt is being removed, too", func(ctx SpecContext) {
		w := newWorld(ctx)
		w.add(ctx, "own", strategy(kubevirtv1.EvictionStrategyNone))
		Expect(live.Delete(ctx, &kubevirtv1.KubeVirt{ObjectMeta: w.meta("kubevirt")})).To(Succeed())
		w.evacuate(ctx)
		Expect(w.migrations(ctx)).To(HaveLen(1))
		Expect(w.cancel(ctx).Done).To(BeTrue())
		Expect(w.migrations(ctx)).To(BeEmpty())
	})

	It("is a taint of ours, set once and taken away when virtual machines are brought back", func(ctx SpecContext) {
		w := newWorld(ctx)
		w.add(ctx, "a")
		w.observe(ctx, "v0.59.2")
		w.evacuate(ctx)
		w.evacuate(ctx)
		Expect(w.evacuation(ctx).Node.Spec.Taints).To(HaveLen(1))
		Expect(w.calls["patch"]).To(Equal(1))
		Expect(w.restore(ctx).Done).To(BeTrue())
		Expect(w.evacuation(ctx).Node.Spec.Taints).To(BeEmpty())
	})

	It("is a taint by the name that KubeVirt is configured with, and is taken away with KubeVirt gone, too, by its own name", func(ctx SpecContext) {
		w := newWorld(ctx)
		w.add(ctx, "a")
		configured := &kubevirtv1.KubeVirt{}
		key := client.ObjectKey{Namespace: w.namespace, Name: "kubevirt"}
		Expect(live.Get(ctx, key, configured)).To(Succeed())
		configured.Spec.Configuration.MigrationConfiguration = &kubevirtv1.MigrationConfiguration{NodeDrainTaintKey: new("drain")}
		Expect(live.Update(ctx, configured)).To(Succeed())
		w.observe(ctx, "v0.59.2")
		w.evacuate(ctx)
		Expect(w.evacuation(ctx).Node.Spec.Taints).To(HaveExactElements(HaveField("Key", "drain")))
		Expect(w.restore(ctx).Done).To(BeTrue())
		Expect(w.evacuation(ctx).Node.Spec.Taints).To(BeEmpty())

		Expect(live.Get(ctx, key, configured)).To(Succeed())
		configured.Spec.Configuration.MigrationConfiguration = nil
		Expect(live.Update(ctx, configured)).To(Succeed())
		w.evacuate(ctx)
		Expect(w.evacuation(ctx).Node.Spec.Taints).To(HaveLen(1))
		Expect(live.Delete(ctx, configured)).To(Succeed())
		Expect(w.restore(ctx).Done).To(BeTrue())
		Expect(w.evacuation(ctx).Node.Spec.Taints).To(BeEmpty())
	})

	It("is not the taint of a person", func(ctx SpecContext) {
		w := newWorld(ctx)
		w.add(ctx, "a")
		w.observe(ctx, "v0.59.2")
		tainted := w.evacuation(ctx).Node
		tainted.Spec.Taints = []corev1.Taint{{Key: kubevirt.DrainTaint, Value: "by-hand", Effect: corev1.TaintEffectNoSchedule}}
		Expect(live.Update(ctx, tainted)).To(Succeed())
		w.evacuate(ctx)
		Expect(w.cancel(ctx).Done).To(BeTrue())
		Expect(w.restore(ctx).Done).To(BeTrue())
		Expect(w.evacuation(ctx).Node.Spec.Taints).To(HaveExactElements(HaveField("Value", "by-hand")))
	})
})

var _ = Describe("Migrations of ours", func() {
	It("are twice as many at a time as KubeVirt runs, whatever others do", func(ctx SpecContext) {
		w := newWorld(ctx)
		configured := &kubevirtv1.KubeVirt{}
		Expect(live.Get(ctx, client.ObjectKey{Namespace: w.namespace, Name: "kubevirt"}, configured)).To(Succeed())
		configured.Spec.Configuration.MigrationConfiguration = &kubevirtv1.MigrationConfiguration{ParallelOutboundMigrationsPerNode: new(uint32(1))}
		Expect(live.Update(ctx, configured)).To(Succeed())
		for i := range 3 {
			w.add(ctx, fmt.Sprintf("vm-%d", i), strategy(kubevirtv1.EvictionStrategyNone))
			w.migrating(ctx, fmt.Sprintf("theirs-%d", i), nodeTwo, "", kubevirtv1.MigrationRunning)
		}
		w.evacuate(ctx)
		Expect(w.calls["create"]).To(Equal(2))
		w.evacuate(ctx)
		Expect(w.calls["create"]).To(Equal(2), "they have not ended")
	})
})

var _ = Describe("What of virtual machines is active on a node", func() {
	It("is instances that have not ended, and then Pods", func(ctx SpecContext) {
		w := newWorld(ctx)
		active := func() []string {
			GinkgoHelper()
			names, err := kubevirt.Active(ctx, live, nodeOne)
			Expect(err).NotTo(HaveOccurred())
			return names
		}
		Expect(active()).To(BeEmpty())
		w.add(ctx, "runs")
		w.add(ctx, "ended", vmi(func(v *kubevirtv1.VirtualMachineInstance) { v.Status.Phase = kubevirtv1.Succeeded }))
		Expect(active()).To(HaveExactElements("VirtualMachineInstance " + w.namespace + "/runs"))
		w.leave(ctx, "runs")
		Expect(active()).To(HaveExactElements("Pod "+w.namespace+"/virt-launcher-ended"), "its Pod is ending")
		w.leave(ctx, "ended")
		Expect(active()).To(BeEmpty())
	})
})
