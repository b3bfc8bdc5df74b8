// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package hypervisor

import (
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	kubevirtv1 "kubevirt.io/api/core/v1"
)

var (
	now   = metav1.Now()
	asked = func(annotations ...string) *kubevirtv1.VirtualMachineInstance {
		guest := &kubevirtv1.VirtualMachineInstance{ObjectMeta: metav1.ObjectMeta{UID: "guest", Annotations: map[string]string{}}}
		for i := 0; i < len(annotations); i += 2 {
			guest.Annotations[annotations[i]] = annotations[i+1]
		}
		return guest
	}
	// migrating is a guest that is being migrated from a to b.
	migrating = func(change func(*kubevirtv1.VirtualMachineInstance)) *kubevirtv1.VirtualMachineInstance {
		guest := asked()
		guest.Status.Phase, guest.Status.NodeName = kubevirtv1.Running, "a"
		guest.Status.MigrationState = &kubevirtv1.VirtualMachineInstanceMigrationState{
			SourceNode: "a", SourcePod: "on-a", TargetNode: "b", TargetPod: "on-b", StartTimestamp: &now,
		}
		change(guest)
		return guest
	}
	launcherPod = func(node string, owner string, deleted bool) *corev1.Pod {
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "on-" + node, OwnerReferences: []metav1.OwnerReference{
			{Kind: kindVMI, Name: "guest", UID: "guest", Controller: ptr.To(true)},
		}}}
		if owner != "" {
			pod.OwnerReferences[0].UID = "predecessor"
		}
		pod.Spec.NodeName = node
		if deleted {
			pod.DeletionTimestamp = &now
		}
		return pod
	}
)

var _ = Describe("A request", func() {
	DescribeTable("for a duration", func(value string, expected time.Duration) {
		Expect(duration(asked(MigrationDuration, value), MigrationDuration, time.Minute)).To(Equal(expected))
	},
		Entry("is taken", "5s", 5*time.Second),
		Entry("that is invalid is the default", "soon", time.Minute),
		Entry("that is negative is the default", "-1s", time.Minute),
		Entry("that is empty is the default", "", time.Minute),
	)

	DescribeTable("for failures", func(value, failedSoFar string, expected bool) {
		Expect(isDue(asked(MigrationFails, value, MigrationsFailed, failedSoFar), MigrationFails)).To(Equal(expected))
	},
		Entry("is due as often as asked for", "2", "1", true),
		Entry("is not due any more", "2", "2", false),
		Entry("is due the first time", "1", "", true),
		Entry("is due always", Always, "7", true),
		Entry("is not due when it is empty", "", "", false),
	)
})

var _ = Describe("A launcher", func() {
	unchanged := func(*kubevirtv1.VirtualMachineInstance) {}
	done := func(guest *kubevirtv1.VirtualMachineInstance) {
		guest.Status.NodeName, guest.Status.MigrationState.Completed, guest.Status.MigrationState.EndTimestamp = "b", true, &now
	}
	broken := func(guest *kubevirtv1.VirtualMachineInstance) {
		guest.Status.MigrationState.Failed, guest.Status.MigrationState.Completed, guest.Status.MigrationState.EndTimestamp = true, true, &now
	}
	DescribeTable("ends when it is no longer needed",
		func(guest *kubevirtv1.VirtualMachineInstance, pod *corev1.Pod, phase corev1.PodPhase) {
			ends, why := decision(&world{guest: guest}, pod)
			Expect(ends).To(Equal(phase))
			if phase != "" {
				Expect(why).NotTo(BeEmpty())
			}
		},
		Entry("its guest was deleted", nil, launcherPod("a", "", false), corev1.PodSucceeded),
		Entry("its guest was another one", migrating(unchanged), launcherPod("a", "predecessor", false), corev1.PodSucceeded),
		Entry("the guest is in it", migrating(unchanged), launcherPod("a", "", false), corev1.PodPhase("")),
		Entry("it is deleted, and the guest still in it", migrating(unchanged), launcherPod("a", "", true), corev1.PodPhase("")),
		Entry("the guest comes to it", migrating(unchanged), launcherPod("b", "", false), corev1.PodPhase("")),
		Entry("the guest would have come to it, and it is deleted", migrating(unchanged), launcherPod("b", "", true), corev1.PodSucceeded),
		Entry("the guest has moved away", migrating(done), launcherPod("a", "", false), corev1.PodSucceeded),
		Entry("the guest has moved to it", migrating(done), launcherPod("b", "", false), corev1.PodPhase("")),
		Entry("the migration to it failed", migrating(broken), launcherPod("b", "", false), corev1.PodSucceeded),
		Entry("the migration from it failed", migrating(broken), launcherPod("a", "", false), corev1.PodPhase("")),
		Entry("it is to vanish", migrating(func(g *kubevirtv1.VirtualMachineInstance) { g.Annotations[TargetVanishes] = "1" }),
			launcherPod("b", "", false), corev1.PodFailed),
		Entry("its guest failed", migrating(func(g *kubevirtv1.VirtualMachineInstance) { g.Status.Phase = kubevirtv1.Failed }),
			launcherPod("a", "", false), corev1.PodFailed),
		Entry("its guest has shut down", migrating(func(g *kubevirtv1.VirtualMachineInstance) { g.Status.Phase = kubevirtv1.Succeeded }),
			launcherPod("a", "", false), corev1.PodSucceeded),
	)

	DescribeTable("is still starting while it is not known to run", func(change func(*corev1.Pod), expected bool) {
		pod := launcherPod("a", "", false)
		pod.Annotations, pod.Status.Phase = map[string]string{BootID: "this"}, corev1.PodPending
		change(pod)
		h := &Hypervisor{boots: map[string]string{"a": "this"}}
		Expect(h.isStarting(&world{guest: asked(), launchers: []corev1.Pod{*pod}}, "a")).To(Equal(expected))
	},
		Entry("it is started", func(*corev1.Pod) {}, true),
		Entry("it was started before its host went down", func(pod *corev1.Pod) { pod.Annotations[BootID] = "former" }, false),
		Entry("it has ended", func(pod *corev1.Pod) { pod.Status.Phase = corev1.PodFailed }, false),
		Entry("it is on another node", func(pod *corev1.Pod) { pod.Spec.NodeName = "b" }, false),
		Entry("it is a predecessor's", func(pod *corev1.Pod) { pod.OwnerReferences[0].UID = "predecessor" }, false),
	)

	It("was asked to stop when its deletion was requested, not when its grace period ends", func() {
		pod := launcherPod("a", "", true)
		pod.DeletionGracePeriodSeconds = ptr.To[int64](30)
		Expect(askedToStop(asked(), pod)).To(BeTemporally("==", now.Add(-30*time.Second)))
		Expect(askedToStop(asked(), launcherPod("a", "", false))).To(BeZero())
	})
})
