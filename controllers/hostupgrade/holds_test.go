// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package hostupgrade_test

import (
	"context"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
)

// hold is a reason for an attempt to wait at a step.
type hold struct {
	position string
	// message that the attempt shows meanwhile. HOST and NODE stand for the host's name, which both have.
	message string
	options infrav1.NodeUpgradeOption
	impose  func(ctx context.Context, w *world)
	lift    func(ctx context.Context, w *world)
	// begun is true where the host has begun what cannot be undone.
	begun bool
}

var manual = infrav1.NodeUpgradeOption{Strategy: infrav1.NodeUpgradeStrategy{Mode: infrav1.NodeUpgradeModeManual}}

// stopAgent makes the host stay in a phase until it is lifted.
func stopAgent(phase infrav1.HostUpgradePhase) (impose, lift func(context.Context, *world)) {
	return func(_ context.Context, w *world) { w.agent.stopAt = phase },
		func(_ context.Context, w *world) { w.agent.stopAt = "" }
}

// holds are in the order of the steps.
func holds() []hold {
	all := []hold{
		{
			position: "Preflight (1/14)", message: "waiting for the elemental-agent of ElementalHost HOST to answer",
			impose: func(_ context.Context, w *world) { w.agent.silent = true },
			lift:   func(_ context.Context, w *world) { w.agent.silent = false },
		},
		{position: "Prefetch (2/14)", message: "ElementalHost HOST is fetching " + newImage},
		{
			position: "Approve (3/14)", options: manual,
			message: "Node HOST is paused: remove its annotation " + infrav1.NodeUpgradePauseAnnotation +
				", or set spec.approved of ElementalHostUpgrade upgrade-a",
			impose: func(context.Context, *world) {},
			lift: func(ctx context.Context, w *world) {
				w.changeNode(ctx, func(node *corev1.Node) { delete(node.Annotations, infrav1.NodeUpgradePauseAnnotation) })
			},
		},
		{
			position: "Admit (4/14)", message: "waiting for an upgrade slot of Cluster edge: 1 of 1 taken by NAMESPACE-z",
			impose: takeSlot, lift: freeSlots,
		},
		{
			position: "Drain (7/14)",
			message:  "PodDisruptionBudget NAMESPACE/web allows no eviction of Pod NAMESPACE/web",
			impose:   guardPod, lift: allowEviction,
		},
		{
			position: "DetachVolumes (8/14)", message: "waiting for volumes to be detached from Node HOST: pv-1",
			impose: attachVolume,
			lift: func(ctx context.Context, _ *world) {
				Expect(live.DeleteAllOf(ctx, &storagev1.VolumeAttachment{})).To(Succeed())
			},
		},
		{position: "Reboot (10/14)", message: "waiting for the elemental-agent of ElementalHost HOST to start"},
		{position: "Reboot (10/14)", message: "ElementalHost HOST is writing " + newImage, begun: true},
		{position: "Reboot (10/14)", message: "ElementalHost HOST is rebooting", begun: true},
		{position: "Assess (11/14)", message: "ElementalHost HOST is assessing its boot", begun: true},
		{
			position: "Assess (11/14)", message: "waiting for the kubelet of Node HOST to report the new boot", begun: true,
			impose: func(_ context.Context, w *world) { w.agent.down = true },
			lift: func(ctx context.Context, w *world) {
				host := get(ctx, w, w.host, &infrav1.ElementalHost{})
				setNode(ctx, w.host, host.Status.OS.BootID, corev1.ConditionTrue, w.clock.Now())
			},
		},
		{
			position: "Settle (14/14)", message: "waiting for volumes to be attached to Node HOST: pv-2 (attaching it fails)", begun: true,
			impose: failAttachment,
			lift: func(ctx context.Context, _ *world) {
				Expect(live.DeleteAllOf(ctx, &storagev1.VolumeAttachment{})).To(Succeed())
			},
		},
	}
	for index, phase := range map[int]infrav1.HostUpgradePhase{
		1: infrav1.HostUpgradeFetching, 6: infrav1.HostUpgradeFetched, 7: infrav1.HostUpgradeApplying,
		8: infrav1.HostUpgradeRebooting, 9: infrav1.HostUpgradeAssessing,
	} {
		all[index].impose, all[index].lift = stopAgent(phase)
	}
	return all
}

// atEachHold makes a spec for every reason to wait.
func atEachHold(spec func(ctx context.Context, h hold)) {
	for _, h := range holds() {
		It("at "+h.position+": "+h.message, func(ctx SpecContext) { spec(ctx, h) })
	}
}

// held makes a world whose attempt waits.
func held(ctx context.Context, h hold) *world {
	GinkgoHelper()
	w := newWorld(ctx, h.options)
	h.impose(ctx, w)
	w.drive(ctx, nil)
	Expect(w.status(ctx).Phase).To(Equal(infrav1.UpgradeProgressing))
	Expect(w.status(ctx).Position()).To(Equal(h.position))
	return w
}

func takeSlot(ctx context.Context, w *world) {
	other := &infrav1.ElementalHostUpgrade{}
	w.addWorker(ctx, w.namespace+"-z")
	w.addUpgrade(ctx, "upgrade-z", w.namespace+"-z", infrav1.NodeUpgradeOption{})
	Expect(live.Get(ctx, client.ObjectKey{Namespace: w.namespace, Name: "upgrade-z"}, other)).To(Succeed())
	setSlots(ctx, w, infrav1.UpgradeSlot{Attempt: attemptOf(other), Upgrade: other.Name})
}

func freeSlots(ctx context.Context, w *world) { setSlots(ctx, w) }

func setSlots(ctx context.Context, w *world, slots ...infrav1.UpgradeSlot) {
	GinkgoHelper()
	cluster := get(ctx, w, clusterName, &infrav1.ElementalCluster{})
	cluster.Status.UpgradeSlots = slots
	Expect(live.Status().Update(ctx, cluster)).To(Succeed())
}

// addPod makes a running Pod on the world's Node that is gone as soon as it is evicted.
func addPod(ctx context.Context, w *world, name string) *corev1.Pod {
	GinkgoHelper()
	pod := &corev1.Pod{ObjectMeta: w.meta(name), Spec: corev1.PodSpec{
		NodeName: w.host, TerminationGracePeriodSeconds: new(int64(0)),
		Containers: []corev1.Container{{Name: "main", Image: "registry.test/web"}},
	}}
	pod.Labels = map[string]string{"app": name}
	Expect(live.Create(ctx, pod)).To(Succeed())
	pod.Status.Phase = corev1.PodRunning
	pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
	Expect(live.Status().Update(ctx, pod)).To(Succeed())
	return pod
}

// guardPod makes a Pod that its PodDisruptionBudget lets nobody evict.
func guardPod(ctx context.Context, w *world) {
	GinkgoHelper()
	addPod(ctx, w, "web")
	one := intstr.FromInt32(1)
	Expect(live.Create(ctx, &policyv1.PodDisruptionBudget{ObjectMeta: w.meta("web"), Spec: policyv1.PodDisruptionBudgetSpec{
		MinAvailable: &one, Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}},
	}})).To(Succeed())
	setBudget(ctx, w, 0)
}

func allowEviction(ctx context.Context, w *world) { setBudget(ctx, w, 1) }

// setBudget plays the disruption controller.
func setBudget(ctx context.Context, w *world, allowed int32) {
	GinkgoHelper()
	budget := get(ctx, w, "web", &policyv1.PodDisruptionBudget{})
	budget.Status = policyv1.PodDisruptionBudgetStatus{
		ObservedGeneration: budget.Generation, DisruptionsAllowed: allowed,
		CurrentHealthy: 1 + allowed, DesiredHealthy: 1, ExpectedPods: 1 + allowed,
	}
	Expect(live.Status().Update(ctx, budget)).To(Succeed())
}

func attachVolume(ctx context.Context, w *world) {
	setAttachment(ctx, w, "pv-1", storagev1.VolumeAttachmentStatus{Attached: true})
}

func failAttachment(ctx context.Context, w *world) {
	setAttachment(ctx, w, "pv-2", storagev1.VolumeAttachmentStatus{AttachError: &storagev1.VolumeError{Message: "timed out"}})
}

func setAttachment(ctx context.Context, w *world, volume string, status storagev1.VolumeAttachmentStatus) {
	GinkgoHelper()
	attachment := &storagev1.VolumeAttachment{ObjectMeta: metav1.ObjectMeta{Name: w.namespace + "-" + volume}, Spec: storagev1.VolumeAttachmentSpec{
		Attacher: "csi.test", NodeName: w.host, Source: storagev1.VolumeAttachmentSource{PersistentVolumeName: &volume},
	}}
	Expect(live.Create(ctx, attachment)).To(Succeed())
	attachment.Status = status
	Expect(live.Status().Update(ctx, attachment)).To(Succeed())
}
