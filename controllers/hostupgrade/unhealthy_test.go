// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package hostupgrade_test

import (
	"context"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
)

// longAgo is when something broke that has been broken for a day.
var longAgo = began.Add(-24 * time.Hour)

// addDaemonSet makes a DaemonSet, without which a drain evicts its Pods, that says that one of its Pods is not Ready.
func addDaemonSet(ctx context.Context, w *world, name string) *appsv1.DaemonSet {
	GinkgoHelper()
	labels := map[string]string{"daemon": name}
	set := &appsv1.DaemonSet{ObjectMeta: w.meta(name), Spec: appsv1.DaemonSetSpec{
		Selector: &metav1.LabelSelector{MatchLabels: labels},
		Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: corev1.PodSpec{
			Containers: []corev1.Container{{Name: "main", Image: "registry.test/daemon"}},
		}},
	}}
	Expect(live.Create(ctx, set)).To(Succeed())
	set.Status.DesiredNumberScheduled, set.Status.NumberReady = 2, 1
	Expect(live.Status().Update(ctx, set)).To(Succeed())
	DeferCleanup(func(ctx SpecContext) { Expect(client.IgnoreNotFound(live.Delete(ctx, set))).To(Succeed()) })
	return set
}

// addDaemonPod makes a Pod of a DaemonSet on the world's Node, which is Ready or not since then.
func addDaemonPod(ctx context.Context, w *world, set *appsv1.DaemonSet, name string, ready corev1.ConditionStatus, since time.Time) *corev1.Pod {
	GinkgoHelper()
	pod := addPod(ctx, w, name)
	pod.Labels = set.Spec.Selector.MatchLabels
	pod.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(set, appsv1.SchemeGroupVersion.WithKind("DaemonSet"))}
	Expect(live.Update(ctx, pod)).To(Succeed())
	setPodReady(ctx, pod, ready, since)
	return pod
}

func setPodReady(ctx context.Context, pod *corev1.Pod, ready corev1.ConditionStatus, since time.Time) {
	GinkgoHelper()
	pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: ready, LastTransitionTime: metav1.NewTime(since)}}
	Expect(live.Status().Update(ctx, pod)).To(Succeed())
}

var _ = Describe("What was not healthy on a node before its upgrade", func() {
	var w *world
	BeforeEach(func(ctx SpecContext) { w = newWorld(ctx, infrav1.NodeUpgradeOption{}) })

	isRebooting := func() bool { return w.agent.marker.Phase == infrav1.HostUpgradeRebooting }
	waits := func(pod string, set *appsv1.DaemonSet) string {
		return "waiting for DaemonSet Pod " + w.namespace + "/" + pod + " (DaemonSet " + set.Name + ") on Node " + w.host + " to be Ready"
	}

	It("and is not yet, is a warning before and after, also if its Pod is another one", func(ctx SpecContext) {
		set := addDaemonSet(ctx, w, "logs")
		pod := addDaemonPod(ctx, w, set, "logs-1", corev1.ConditionFalse, longAgo)
		w.drive(ctx, isRebooting)
		broken := "DaemonSet " + w.namespace + "/logs is not Ready"
		Expect(w.status(ctx).Preflight).To(ContainElement(infrav1.PreflightResult{
			Check: "NodeHealth", Verdict: infrav1.PreflightWarn, Object: "Node/" + w.host,
			Message: broken + ", for 5m0s or longer: the upgrade does not wait for that after the reboot; repair it first if it should",
		}))
		Expect(live.Delete(ctx, pod)).To(Succeed())
		addDaemonPod(ctx, w, set, "logs-2", corev1.ConditionFalse, w.clock.Now())
		w.drive(ctx, nil)
		Expect(w.marks(ctx)).To(Equal(clean))
		Expect(w.status(ctx).Message).To(HaveSuffix("warning: as before the upgrade, " + broken))
		Expect(w.status(ctx).UnhealthyBefore).To(HaveExactElements(
			infrav1.UnhealthyObject{Kind: infrav1.UnhealthyDaemonSet, Namespace: w.namespace, Name: "logs"}))
	})

	It("and is by now, is no warning", func(ctx SpecContext) {
		pod := addDaemonPod(ctx, w, addDaemonSet(ctx, w, "logs"), "logs-1", corev1.ConditionFalse, longAgo)
		w.drive(ctx, isRebooting)
		setPodReady(ctx, pod, corev1.ConditionTrue, w.clock.Now())
		w.drive(ctx, nil)
		Expect(w.marks(ctx)).To(Equal(clean))
		Expect(w.status(ctx).Message).NotTo(ContainSubstring("warning"))
	})

	It("is recorded before the node is cordoned, and once", func(ctx SpecContext) {
		addDaemonPod(ctx, w, addDaemonSet(ctx, w, "logs"), "logs-1", corev1.ConditionFalse, longAgo)
		w.drive(ctx, func() bool { return len(w.status(ctx).UnhealthyBefore) > 0 })
		Expect(w.marks(ctx).Unschedulable).To(BeFalse())
		Expect(w.status(ctx).Step).To(Equal("Cordon"))
		recorded := w.status(ctx).UnhealthyBefore
		w.drive(ctx, func() bool { return w.marks(ctx).Unschedulable })
		later := addDaemonSet(ctx, w, "metrics")
		addDaemonPod(ctx, w, later, "metrics-1", corev1.ConditionFalse, longAgo)
		w.restart()
		w.drive(ctx, nil)
		Expect(w.status(ctx).UnhealthyBefore).To(Equal(recorded))
		Expect(w.status(ctx).Message).To(Equal(waits("metrics-1", later)))
	})

	It("is not what was not found before the node was cordoned", func(ctx SpecContext) {
		attachVolume(ctx, w)
		w.drive(ctx, nil)
		Expect(w.status(ctx).Step).To(Equal("DetachVolumes"))
		set := addDaemonSet(ctx, w, "logs")
		addDaemonPod(ctx, w, set, "logs-1", corev1.ConditionFalse, longAgo)
		By("a user taking the cordon away")
		w.changeNode(ctx, func(node *corev1.Node) { node.Spec.Unschedulable = false; node.Annotations = nil })
		Expect(live.DeleteAllOf(ctx, &storagev1.VolumeAttachment{})).To(Succeed())
		w.drive(ctx, nil)
		Expect(w.status(ctx).UnhealthyBefore).To(BeEmpty())
		Expect(w.status(ctx).Message).To(Equal(waits("logs-1", set)))
	})

	DescribeTable("is not excused, and is waited for", func(ctx SpecContext, before, meanwhile func(ctx context.Context, set *appsv1.DaemonSet)) {
		set := addDaemonSet(ctx, w, "logs")
		before(ctx, set)
		w.drive(ctx, isRebooting)
		meanwhile(ctx, set)
		w.drive(ctx, nil)
		Expect(w.status(ctx).Message).To(Equal(waits("logs-1", set)))
		pod := get(ctx, w, "logs-1", &corev1.Pod{})
		setPodReady(ctx, pod, corev1.ConditionTrue, w.clock.Now())
		w.drive(ctx, nil)
		Expect(w.marks(ctx)).To(Equal(clean))
		Expect(w.status(ctx).Message).NotTo(ContainSubstring("warning"))
	},
		Entry("if it was Ready", func(ctx context.Context, set *appsv1.DaemonSet) {
			addDaemonPod(ctx, w, set, "logs-1", corev1.ConditionTrue, longAgo)
		}, func(ctx context.Context, _ *appsv1.DaemonSet) {
			setPodReady(ctx, get(ctx, w, "logs-1", &corev1.Pod{}), corev1.ConditionFalse, w.clock.Now())
		}),
		Entry("if it was just being started", func(ctx context.Context, set *appsv1.DaemonSet) {
			addDaemonPod(ctx, w, set, "logs-1", corev1.ConditionFalse, began.Add(-time.Minute))
		}, func(context.Context, *appsv1.DaemonSet) {}),
		Entry("if it is new", func(context.Context, *appsv1.DaemonSet) {}, func(ctx context.Context, set *appsv1.DaemonSet) {
			addDaemonPod(ctx, w, set, "logs-1", corev1.ConditionFalse, longAgo)
		}),
		Entry("if another one was not Ready", func(ctx context.Context, set *appsv1.DaemonSet) {
			addDaemonPod(ctx, w, addDaemonSet(ctx, w, "metrics"), "metrics-1", corev1.ConditionFalse, longAgo)
			addDaemonPod(ctx, w, set, "logs-1", corev1.ConditionTrue, longAgo)
		}, func(ctx context.Context, _ *appsv1.DaemonSet) {
			Expect(live.Delete(ctx, get(ctx, w, "metrics-1", &corev1.Pod{}))).To(Succeed())
			setPodReady(ctx, get(ctx, w, "logs-1", &corev1.Pod{}), corev1.ConditionFalse, w.clock.Now())
		}),
	)

	It("does not matter if its DaemonSet was deleted meanwhile", func(ctx SpecContext) {
		set := addDaemonSet(ctx, w, "logs")
		pod := addDaemonPod(ctx, w, set, "logs-1", corev1.ConditionTrue, longAgo)
		w.drive(ctx, isRebooting)
		setPodReady(ctx, pod, corev1.ConditionFalse, w.clock.Now())
		w.drive(ctx, nil)
		Expect(w.status(ctx).Message).To(Equal(waits("logs-1", set)))
		for _, object := range []client.Object{set, pod} {
			Expect(live.Delete(ctx, object)).To(Succeed())
		}
		w.drive(ctx, nil)
		Expect(w.marks(ctx)).To(Equal(clean))
	})

	It("is waited for after a move, which loses what was recorded", func(ctx SpecContext) {
		set := addDaemonSet(ctx, w, "logs")
		addDaemonPod(ctx, w, set, "logs-1", corev1.ConditionFalse, longAgo)
		w.agent.stopAt = infrav1.HostUpgradeApplying
		w.drive(ctx, nil)
		Expect(w.status(ctx).UnhealthyBefore).NotTo(BeEmpty())
		w.answer(ctx, w.move(ctx))
		w.agent.stopAt = ""
		w.drive(ctx, nil)
		Expect(w.status(ctx).UnhealthyBefore).To(BeEmpty())
		Expect(w.status(ctx).Message).To(HavePrefix(waits("logs-1", set)))
	})

	It("may be a volume that cannot be attached", func(ctx SpecContext) {
		failAttachment(ctx, w)
		w.clock.SetTime(time.Now().Add(time.Hour)) // an API server says by its own clock when it was made
		w.drive(ctx, nil)
		Expect(w.marks(ctx)).To(Equal(clean))
		Expect(w.status(ctx).Message).To(HaveSuffix("warning: as before the upgrade, PersistentVolume pv-2 is not attached"))
	})

	DescribeTable("may be the Node itself, where the check for that is waived", func(ctx SpecContext, fallsBack bool, phase infrav1.UpgradePhase) {
		setNode(ctx, w.host, "boot-1", corev1.ConditionFalse, longAgo)
		change(ctx, w, w.upgrade, &infrav1.ElementalHostUpgrade{}, func(u *infrav1.ElementalHostUpgrade) {
			u.Spec.SkipPreflight = []infrav1.PreflightCheck{"NodeReady"}
		})
		w.agent.fallsBack = fallsBack
		w.drive(ctx, func() bool { return w.agent.marker.Phase == infrav1.HostUpgradeAssessing })
		since := w.clock.Now()
		w.drive(ctx, func() bool {
			setNode(ctx, w.host, get(ctx, w, w.host, &infrav1.ElementalHost{}).Status.OS.BootID, corev1.ConditionFalse, since)
			return w.status(ctx).Phase == phase
		})
		Expect(w.marks(ctx).Phase).To(Equal(phase))
		Expect(w.marks(ctx).Unschedulable).To(BeFalse())
	},
		Entry("and it is not Ready afterwards", false, infrav1.UpgradeSucceeded),
		Entry("and it falls back", true, infrav1.UpgradeRolledBack),
	)
})
