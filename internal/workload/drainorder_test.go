// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package workload_test

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/storage"
)

var _ = Describe("Drain, of what serves volumes", func() {
	var w *world

	BeforeEach(func(ctx SpecContext) { w = newWorld(ctx) })

	labelled := func(key, value string) func(*corev1.Pod) {
		return func(pod *corev1.Pod) { pod.Labels = map[string]string{key: value} }
	}
	exists := func(ctx SpecContext, pod string) bool {
		err := server.Client.Get(ctx, client.ObjectKey{Namespace: w.namespace, Name: pod}, &corev1.Pod{})
		Expect(client.IgnoreNotFound(err)).To(Succeed())
		return !apierrors.IsNotFound(err)
	}
	rule := func(ctx SpecContext, behavior clusterv1.MachineDrainRuleDrainBehavior, order *int32, app string) {
		Expect(server.Client.Create(ctx, &clusterv1.MachineDrainRule{
			ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "zz-" + app},
			Spec: clusterv1.MachineDrainRuleSpec{
				Drain: clusterv1.MachineDrainRuleDrainConfig{Behavior: behavior, Order: order},
				Pods:  []clusterv1.MachineDrainRulePodSelector{{Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": app}}}},
			},
		})).To(Succeed())
	}

	DescribeTable("evicts it last, and waits for what it has to do before", func(ctx SpecContext, key, value string) {
		w.addPod(ctx, "web")
		w.addPod(ctx, "serves", labelled(key, value))
		w.drain(ctx)
		Expect(exists(ctx, "web")).To(BeFalse())
		Expect(exists(ctx, "serves")).To(BeTrue(), "the ordinary Pod goes first")

		w.beforeStorage = "waiting for pv-1"
		drained, blocker := w.drain(ctx)
		Expect(drained).To(BeFalse())
		Expect(blocker).To(Equal("waiting for pv-1"))
		Expect(exists(ctx, "serves")).To(BeTrue())

		w.beforeStorage = ""
		w.drain(ctx)
		Expect(exists(ctx, "serves")).To(BeFalse())
		drained, _ = w.drain(ctx)
		Expect(drained).To(BeTrue())
	},
		Entry("that attaches volumes", "app", "csi-attacher"),
		Entry("that makes volumes", "app", "csi-provisioner"),
		Entry("that resizes volumes", "app", "csi-resizer"),
		Entry("that makes snapshots", "app", "csi-snapshotter"),
		Entry("that holds replicas", "longhorn.io/component", "instance-manager"),
		Entry("that shares volumes", "longhorn.io/component", "share-manager"),
	)

	It("does not wait where there is none", func(ctx SpecContext) {
		w.beforeStorage = "waiting for pv-1"
		w.addPod(ctx, "web")
		w.drain(ctx)
		drained, _ := w.drain(ctx)
		Expect(drained).To(BeTrue())
	})

	It("waits for ordinary Pods that take their time", func(ctx SpecContext) {
		w.addPod(ctx, "web", takesItsTime)
		w.addPod(ctx, "attacher", labelled("app", "csi-attacher"))
		for range 2 {
			w.drain(ctx)
			Expect(exists(ctx, "attacher")).To(BeTrue())
		}
	})

	It("honours what MachineDrainRules say of it, whatever their names", func(ctx SpecContext) {
		rule(ctx, clusterv1.MachineDrainRuleDrainBehaviorSkip, nil, "csi-attacher")
		rule(ctx, clusterv1.MachineDrainRuleDrainBehaviorDrain, new(int32(-1)), "csi-resizer")
		for _, app := range []string{"csi-attacher", "csi-provisioner", "csi-resizer"} {
			w.addPod(ctx, app, labelled("app", app))
		}
		w.addPod(ctx, "web")
		w.drain(ctx)
		Expect(exists(ctx, "csi-resizer")).To(BeFalse(), "its rule says that it goes before all others")
		Expect(exists(ctx, "web")).To(BeTrue())
		w.drain(ctx)
		Expect(exists(ctx, "web")).To(BeFalse())
		Expect(exists(ctx, "csi-provisioner")).To(BeTrue())
		w.drain(ctx)
		Expect(exists(ctx, "csi-provisioner")).To(BeFalse())
		drained, _ := w.drain(ctx)
		Expect(drained).To(BeTrue())
		Expect(exists(ctx, "csi-attacher")).To(BeTrue())
	})

	It("names Longhorn's volumes behind its PodDisruptionBudget, where they are attached, and waits for them", func(ctx SpecContext) {
		longhorn, err := storage.NewLonghorn(ctx, server.Client, clock.RealClock{})
		Expect(err).NotTo(HaveOccurred())
		DeferCleanup(func(ctx SpecContext) error { return storage.Uninstall(ctx, server.Client) })
		Expect(longhorn.AddVolume(ctx, storage.VolumeSpec{Name: "pvc-1", Claim: "default/data", Nodes: []string{w.node, "b"}, AttachedTo: w.node})).To(Succeed())
		Expect(longhorn.AddVolume(ctx, storage.VolumeSpec{Name: "pvc-2", Nodes: []string{w.node}})).To(Succeed())
		Expect(longhorn.AddVolume(ctx, storage.VolumeSpec{Name: "pvc-3", Nodes: []string{w.node, "b"}, AttachedTo: "b"})).To(Succeed())
		w.setBudget(ctx, "instance-manager-1", 0)
		w.addPod(ctx, "instance-manager-1", func(pod *corev1.Pod) { pod.Labels["longhorn.io/component"] = "instance-manager" })
		_, blocker := w.drain(ctx)
		Expect(blocker).To(Equal("PodDisruptionBudget " + w.namespace + "/instance-manager-1 allows no eviction of Pod " + w.namespace + "/instance-manager-1" +
			"; Longhorn volumes attached to Node " + w.node + ": pvc-1 (PersistentVolumeClaim default/data)" +
			"; Longhorn volumes whose last healthy replica is on Node " + w.node + ": pvc-2"))

		Expect(w.cluster.AttachedByResidents(ctx, w.node)).To(Equal([]string{"pvc-1 (PersistentVolumeClaim default/data)"}))
		Expect(longhorn.Detach(ctx, "pvc-1")).To(Succeed())
		Expect(w.cluster.AttachedByResidents(ctx, w.node)).To(BeEmpty())
	})
})
