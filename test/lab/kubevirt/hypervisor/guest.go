// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package hypervisor

import (
	"context"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kubevirtv1 "kubevirt.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// playGuest does what virt-handler on the guest's host does: from the moment virt-controller hands the guest over,
// Scheduled, to its end.
func (h *Hypervisor) playGuest(ctx context.Context, seen *world) (reconcile.Result, error) {
	guest := seen.guest
	if guest == nil || !isHandedOver(guest) || !h.isUp(guest.Status.NodeName) {
		return reconcile.Result{}, nil
	}
	launcher := h.launcherOn(seen, guest.Status.NodeName)
	switch asked := askedToStop(guest, launcher); {
	case launcher == nil && h.isStarting(seen, guest.Status.NodeName):
		return reconcile.Result{}, nil
	case launcher == nil:
		return reconcile.Result{}, h.end(ctx, seen, kubevirtv1.Failed, "its launcher is gone")
	case !asked.IsZero():
		return h.shutDown(ctx, seen, asked)
	case guest.Status.Phase == kubevirtv1.Scheduled:
		return h.start(ctx, seen, launcher)
	case guest.Annotations[Fails] == "true":
		return reconcile.Result{}, h.end(ctx, seen, kubevirtv1.Failed, "it crashed")
	}
	return reconcile.Result{}, h.keepMigratable(ctx, seen)
}

func isHandedOver(guest *kubevirtv1.VirtualMachineInstance) bool {
	return guest.Status.NodeName != "" && (guest.Status.Phase == kubevirtv1.Scheduled || guest.Status.Phase == kubevirtv1.Running)
}

// start sets a scheduled guest to Running.
func (h *Hypervisor) start(ctx context.Context, seen *world, launcher *corev1.Pod) (reconcile.Result, error) {
	if launcher.Status.StartTime != nil {
		takes := duration(seen.guest, StartDuration, 0)
		if wait := time.Until(launcher.Status.StartTime.Add(takes)); takes > 0 && wait > 0 {
			return reconcile.Result{RequeueAfter: wait}, nil
		}
	}
	_, machine := machineType()
	return reconcile.Result{}, h.write(ctx, seen, "Guest runs", func(guest *kubevirtv1.VirtualMachineInstance) {
		setPhase(guest, kubevirtv1.Running)
		guest.Status.SelinuxContext = "none"
		guest.Status.MigrationMethod = kubevirtv1.LiveMigration
		guest.Status.Machine = &kubevirtv1.Machine{Type: machine}
		setCondition(guest, migratable(guest))
		setCondition(guest, kubevirtv1.VirtualMachineInstanceCondition{
			Type: kubevirtv1.VirtualMachineInstanceIsStorageLiveMigratable, Status: corev1.ConditionTrue,
		})
	})
}

// keepMigratable updates the condition LiveMigratable from the guest's annotation.
func (h *Hypervisor) keepMigratable(ctx context.Context, seen *world) error {
	now := migratable(seen.guest)
	isSame := func(c kubevirtv1.VirtualMachineInstanceCondition) bool {
		return c.Type == now.Type && c.Status == now.Status && c.Reason == now.Reason
	}
	if slices.ContainsFunc(seen.guest.Status.Conditions, isSame) {
		return nil
	}
	return h.write(ctx, seen, "Guest can migrate: "+string(now.Status), func(guest *kubevirtv1.VirtualMachineInstance) {
		setCondition(guest, now)
	})
}

// askedToStop is when the guest was told to shut down because it, or its launcher, was deleted; zero if it was not.
func askedToStop(guest *kubevirtv1.VirtualMachineInstance, launcher *corev1.Pod) time.Time {
	if guest.DeletionTimestamp != nil {
		return guest.DeletionTimestamp.Time
	}
	if launcher == nil || launcher.DeletionTimestamp == nil {
		return time.Time{}
	}
	grace := int64(0)
	if launcher.DeletionGracePeriodSeconds != nil {
		grace = *launcher.DeletionGracePeriodSeconds
	}
	return launcher.DeletionTimestamp.Add(-time.Duration(grace) * time.Second)
}

// shutDown shuts a guest down, and kills it when that exceeds its grace period.
func (h *Hypervisor) shutDown(ctx context.Context, seen *world, asked time.Time) (reconcile.Result, error) {
	takes, may := duration(seen.guest, StopDuration, 0), gracePeriod(seen.guest)
	phase, why := kubevirtv1.Succeeded, "it has shut down"
	if takes > may {
		takes, phase, why = may, kubevirtv1.Failed, "it was killed after its grace period"
	}
	if wait := time.Until(asked.Add(takes)); takes > 0 && wait > 0 {
		return reconcile.Result{RequeueAfter: wait}, nil
	}
	return reconcile.Result{}, h.end(ctx, seen, phase, why)
}

func (h *Hypervisor) end(ctx context.Context, seen *world, phase kubevirtv1.VirtualMachineInstancePhase, why string) error {
	return h.write(ctx, seen, fmt.Sprintf("Guest %s: %s", phase, why), func(guest *kubevirtv1.VirtualMachineInstance) {
		setPhase(guest, phase)
	})
}

// write changes a guest as virt-handler does, in one update of the whole object. A conflict is not retried here: the
// guest is reconciled again with what the other client wrote.
func (h *Hypervisor) write(ctx context.Context, seen *world, what string, change func(*kubevirtv1.VirtualMachineInstance)) error {
	changed := seen.guest.DeepCopy()
	change(changed)
	seen.written = true
	if err := h.handler.Update(ctx, changed); err != nil {
		return fmt.Errorf("writing VirtualMachineInstance %s/%s: %w", changed.Namespace, changed.Name, err)
	}
	h.log.Info(what, "guest", changed.Name, "namespace", changed.Namespace, "uid", changed.UID, "node", changed.Status.NodeName)
	return nil
}

func setPhase(guest *kubevirtv1.VirtualMachineInstance, phase kubevirtv1.VirtualMachineInstancePhase) {
	guest.Status.Phase = phase
	guest.Status.PhaseTransitionTimestamps = append(guest.Status.PhaseTransitionTimestamps,
		kubevirtv1.VirtualMachineInstancePhaseTransitionTimestamp{Phase: phase, PhaseTransitionTimestamp: metav1.Now()})
}

func setCondition(guest *kubevirtv1.VirtualMachineInstance, condition kubevirtv1.VirtualMachineInstanceCondition) {
	for i := range guest.Status.Conditions {
		if guest.Status.Conditions[i].Type == condition.Type {
			guest.Status.Conditions[i] = condition
			return
		}
	}
	guest.Status.Conditions = append(guest.Status.Conditions, condition)
}
