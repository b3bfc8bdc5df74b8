// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package hypervisor

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	kubevirtv1 "kubevirt.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// playLaunchers does what the kubelets of hosts that are up do with a guest's launchers.
func (h *Hypervisor) playLaunchers(ctx context.Context, seen *world) (reconcile.Result, error) {
	for i := range seen.launchers {
		pod := &seen.launchers[i]
		if !h.isUp(pod.Spec.NodeName) {
			continue
		}
		if err := h.playLauncher(ctx, seen, pod); client.IgnoreNotFound(err) != nil && !apierrors.IsConflict(err) {
			return reconcile.Result{}, fmt.Errorf("playing launcher %s/%s: %w", pod.Namespace, pod.Name, err)
		}
	}
	return reconcile.Result{}, nil
}

func (h *Hypervisor) playLauncher(ctx context.Context, seen *world, pod *corev1.Pod) error {
	switch going := pod.DeletionTimestamp != nil; {
	case isOver(pod) && going, pod.Status.Phase == corev1.PodPending && going:
		return h.removeLauncher(ctx, pod)
	case isOver(pod):
		return nil
	case pod.Status.Phase == corev1.PodPending && pod.Annotations[BootID] != h.boot(pod.Spec.NodeName):
		return h.markLauncher(ctx, pod)
	case pod.Status.Phase == corev1.PodPending:
		return h.startLauncher(ctx, pod)
	case !h.isAlive(pod):
		return h.endLauncher(ctx, pod, corev1.PodFailed, "its host was restarted")
	}
	if phase, why := decision(seen, pod); why != "" {
		return h.endLauncher(ctx, pod, phase, why)
	}
	return nil
}

// decision is the phase in which a launcher ends that is no longer needed, and why.
func decision(seen *world, pod *corev1.Pod) (corev1.PodPhase, string) {
	guest := seen.guest
	switch {
	case guest == nil || !metav1.IsControlledBy(pod, guest):
		return corev1.PodSucceeded, "its guest is gone"
	case guest.Status.Phase == kubevirtv1.Failed:
		return corev1.PodFailed, "its guest failed"
	case guest.IsFinal():
		return corev1.PodSucceeded, "its guest has shut down"
	case isTarget(guest, pod) && vanishes(guest):
		return corev1.PodFailed, "it was asked to vanish"
	}
	return left(guest, pod)
}

// left is the phase in which a launcher ends that the guest does not run in, and why.
func left(guest *kubevirtv1.VirtualMachineInstance, pod *corev1.Pod) (corev1.PodPhase, string) {
	switch {
	case isTarget(guest, pod) && hasFailed(guest):
		return corev1.PodSucceeded, "its migration failed"
	case pod.DeletionTimestamp != nil && pod.Spec.NodeName != guest.Status.NodeName:
		return corev1.PodSucceeded, "it was deleted, and has no guest"
	case isLeft(guest, pod):
		return corev1.PodSucceeded, "its guest has moved"
	}
	return "", ""
}

// isAlive reports whether the processes of a launcher that was started can still exist.
func (h *Hypervisor) isAlive(pod *corev1.Pod) bool {
	return pod.Annotations[BootID] == h.boot(pod.Spec.NodeName)
}

func isOver(pod *corev1.Pod) bool {
	return pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed
}

// markLauncher records the boot of its host in which a launcher is started.
func (h *Hypervisor) markLauncher(ctx context.Context, pod *corev1.Pod) error {
	marked := pod.DeepCopy()
	if marked.Annotations == nil {
		marked.Annotations = map[string]string{}
	}
	marked.Annotations[BootID] = h.boot(pod.Spec.NodeName)
	return h.kubelet.Patch(ctx, marked, client.MergeFrom(pod))
}

// startLauncher sets all containers running.
func (h *Hypervisor) startLauncher(ctx context.Context, pod *corev1.Pod) error {
	started, now := pod.DeepCopy(), metav1.Now()
	status := &started.Status
	status.Phase, status.StartTime = corev1.PodRunning, &now
	status.PodIP, status.HostIP = podIP, podIP
	status.PodIPs, status.HostIPs = []corev1.PodIP{{IP: podIP}}, []corev1.HostIP{{IP: podIP}}
	for _, kind := range []corev1.PodConditionType{corev1.PodInitialized, corev1.PodReady, corev1.ContainersReady} {
		setPodCondition(status, corev1.PodCondition{Type: kind, Status: corev1.ConditionTrue, LastTransitionTime: now})
	}
	status.InitContainerStatuses = containersOf(pod.Spec.InitContainers, corev1.ContainerState{
		Terminated: &corev1.ContainerStateTerminated{Reason: "Completed", StartedAt: now, FinishedAt: now},
	})
	status.ContainerStatuses = containersOf(pod.Spec.Containers, corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: now}})
	h.log.Info("Launcher started", "pod", pod.Name, "node", pod.Spec.NodeName)
	return h.kubelet.Status().Update(ctx, started)
}

// podIP of every launcher: nothing connects to it.
const podIP = "10.0.0.1"

func containersOf(containers []corev1.Container, state corev1.ContainerState) []corev1.ContainerStatus {
	statuses := make([]corev1.ContainerStatus, 0, len(containers))
	for i := range containers {
		statuses = append(statuses, corev1.ContainerStatus{
			Name: containers[i].Name, Image: containers[i].Image, Ready: true, State: state, Started: ptr.To(state.Running != nil),
		})
	}
	return statuses
}

// endLauncher sets all containers terminated.
func (h *Hypervisor) endLauncher(ctx context.Context, pod *corev1.Pod, phase corev1.PodPhase, why string) error {
	ended, now := pod.DeepCopy(), metav1.Now()
	state := &corev1.ContainerStateTerminated{Reason: "Completed", FinishedAt: now}
	if phase == corev1.PodFailed {
		state.Reason, state.ExitCode = "Error", 1
	}
	status := &ended.Status
	status.Phase = phase
	for _, kind := range []corev1.PodConditionType{corev1.PodReady, corev1.ContainersReady} {
		setPodCondition(status, corev1.PodCondition{Type: kind, Status: corev1.ConditionFalse, Reason: "PodCompleted", LastTransitionTime: now})
	}
	status.ContainerStatuses = containersOf(pod.Spec.Containers, corev1.ContainerState{Terminated: state})
	for i := range status.ContainerStatuses {
		status.ContainerStatuses[i].Ready = false
	}
	h.log.Info("Launcher ended", "pod", pod.Name, "node", pod.Spec.NodeName, "phase", phase, "why", why)
	return h.kubelet.Status().Update(ctx, ended)
}

// removeLauncher deletes a Pod for good, as a kubelet does once its containers have ended.
func (h *Hypervisor) removeLauncher(ctx context.Context, pod *corev1.Pod) error {
	return h.kubelet.Delete(ctx, pod, client.GracePeriodSeconds(0), client.Preconditions{UID: &pod.UID})
}

func setPodCondition(status *corev1.PodStatus, condition corev1.PodCondition) {
	for i := range status.Conditions {
		if status.Conditions[i].Type == condition.Type {
			status.Conditions[i] = condition
			return
		}
	}
	status.Conditions = append(status.Conditions, condition)
}
