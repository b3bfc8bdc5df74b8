// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package hypervisor

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	kubevirtv1 "kubevirt.io/api/core/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"
)

const (
	// workers is the number of guests that are reconciled concurrently.
	workers = 8
	// maxEvents is how many guests can be queued when a host comes up.
	maxEvents = 4096
	// byGuest is the index of launchers by namespace/name of their guest.
	byGuest = "guest"
	kindVMI = "VirtualMachineInstance"
)

func (h *Hypervisor) register(manager ctrl.Manager) error {
	err := manager.GetFieldIndexer().IndexField(context.Background(), &corev1.Pod{}, byGuest, func(object client.Object) []string {
		if name := guestOf(object); name != "" {
			return []string{object.GetNamespace() + "/" + name}
		}
		return nil
	})
	if err != nil {
		return err
	}
	toGuest := handler.EnqueueRequestsFromMapFunc(func(_ context.Context, object client.Object) []reconcile.Request {
		name := guestOf(object)
		if name == "" {
			return nil
		}
		return []reconcile.Request{{NamespacedName: client.ObjectKey{Namespace: object.GetNamespace(), Name: name}}}
	})
	return ctrl.NewControllerManagedBy(manager).
		Named("hypervisor").
		For(&kubevirtv1.VirtualMachineInstance{}).
		Watches(&corev1.Pod{}, toGuest).
		WatchesRawSource(source.Channel(h.events, &handler.EnqueueRequestForObject{})).
		WithOptions(controller.Options{MaxConcurrentReconciles: workers, SkipNameValidation: ptr.To(true)}).
		Complete(h)
}

// guestOf is the name of a launcher's VirtualMachineInstance.
func guestOf(object client.Object) string {
	for _, owner := range object.GetOwnerReferences() {
		if owner.Kind == kindVMI {
			return owner.Name
		}
	}
	return ""
}

// wake queues every guest of a node whose host came up.
func (h *Hypervisor) wake(ctx context.Context, node string) {
	pods := &corev1.PodList{}
	if err := h.reader.List(ctx, pods); err != nil {
		return
	}
	for i := range pods.Items {
		name := guestOf(&pods.Items[i])
		if pods.Items[i].Spec.NodeName != node || name == "" {
			continue
		}
		guest := &kubevirtv1.VirtualMachineInstance{ObjectMeta: metav1.ObjectMeta{Namespace: pods.Items[i].Namespace, Name: name}}
		select {
		case h.events <- event.GenericEvent{Object: guest}:
		case <-ctx.Done():
			return
		}
	}
}

// Reconcile does the next step for a guest and its launchers. Each write triggers the next reconciliation.
func (h *Hypervisor) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	seen, err := h.look(ctx, request)
	if err != nil {
		return reconcile.Result{}, err
	}
	result := reconcile.Result{}
	for _, step := range []func(context.Context, *world) (reconcile.Result, error){h.playLaunchers, h.playGuest, h.playMigration} {
		again, err := step(ctx, seen)
		if apierrors.IsConflict(err) || apierrors.IsNotFound(err) {
			return reconcile.Result{}, nil // the cache does not have the change yet
		}
		if err != nil || seen.written {
			return reconcile.Result{}, err
		}
		result = sooner(result, again)
	}
	return result, nil
}

// world is the state of one guest.
type world struct {
	// guest is nil if it was deleted.
	guest *kubevirtv1.VirtualMachineInstance
	// launchers are its Pods, oldest first, including those of earlier guests with the same name.
	launchers []corev1.Pod
	// written reports that the guest was written, so that this state is outdated.
	written bool
}

func (h *Hypervisor) look(ctx context.Context, request reconcile.Request) (*world, error) {
	seen := &world{guest: &kubevirtv1.VirtualMachineInstance{}}
	if err := h.reader.Get(ctx, request.NamespacedName, seen.guest); err != nil {
		if client.IgnoreNotFound(err) != nil {
			return nil, fmt.Errorf("reading VirtualMachineInstance %s: %w", request, err)
		}
		seen.guest = nil
	}
	pods := &corev1.PodList{}
	if err := h.reader.List(ctx, pods, client.MatchingFields{byGuest: request.String()}); err != nil {
		return nil, fmt.Errorf("listing the launchers of %s: %w", request, err)
	}
	seen.launchers = pods.Items
	slices.SortFunc(seen.launchers, func(a, b corev1.Pod) int { return a.CreationTimestamp.Compare(b.CreationTimestamp.Time) })
	return seen, nil
}

// sooner is the result that requeues the guest first.
func sooner(a, b reconcile.Result) reconcile.Result {
	if a.RequeueAfter == 0 || (b.RequeueAfter > 0 && b.RequeueAfter < a.RequeueAfter) {
		return b
	}
	return a
}

// launcherOn is the guest's own launcher on a node, if it runs there in the current boot of the host.
func (h *Hypervisor) launcherOn(seen *world, node string) *corev1.Pod {
	for i := range seen.launchers {
		pod := &seen.launchers[i]
		if pod.Spec.NodeName == node && metav1.IsControlledBy(pod, seen.guest) && pod.Status.Phase == corev1.PodRunning && h.isAlive(pod) {
			return pod
		}
	}
	return nil
}

// isStarting reports whether the guest's own launcher on a node is not known to run yet. Pods and guests are watched
// separately: virt-controller may have seen the Pod run and updated the guest before the Pod's update arrives here.
func (h *Hypervisor) isStarting(seen *world, node string) bool {
	return slices.ContainsFunc(seen.launchers, func(pod corev1.Pod) bool {
		return pod.Spec.NodeName == node && metav1.IsControlledBy(&pod, seen.guest) && pod.Status.Phase == corev1.PodPending && h.isAlive(&pod)
	})
}
