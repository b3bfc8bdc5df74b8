// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package hypervisor

import (
	"context"
	"fmt"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kubevirtv1 "kubevirt.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// The address at which the target of a migration listens. Nothing connects to it.
const (
	targetAddress = "127.0.0.1"
	targetPort    = "49152"
)

// playMigration does what virt-handler on either side does for a migration that virt-controller has handed
// over. Source: KubeVirt 1.7, pkg/virt-handler/migration-source.go and migration-target.go.
func (h *Hypervisor) playMigration(ctx context.Context, seen *world) (reconcile.Result, error) {
	if !isHandedToTarget(seen.guest) {
		return reconcile.Result{}, nil
	}
	state := seen.guest.Status.MigrationState
	if isFinished(state) {
		return reconcile.Result{}, h.cleanUp(ctx, seen)
	}
	if state.EndTimestamp == nil && h.isUp(state.SourceNode) {
		if failed, err := h.breakOff(ctx, seen); failed || err != nil {
			return reconcile.Result{}, err
		}
	}
	switch {
	case state.TargetNodeAddress == "":
		return reconcile.Result{}, h.listen(ctx, seen)
	case state.StartTimestamp == nil:
		return reconcile.Result{}, h.begin(ctx, seen)
	case state.EndTimestamp == nil:
		return h.transfer(ctx, seen)
	default:
		return reconcile.Result{}, h.complete(ctx, seen)
	}
}

// isHandedToTarget reports whether a guest runs, and its migration was handed to the target node.
func isHandedToTarget(guest *kubevirtv1.VirtualMachineInstance) bool {
	if guest == nil || guest.Status.Phase != kubevirtv1.Running || guest.DeletionTimestamp != nil {
		return false
	}
	return guest.Status.MigrationState != nil && guest.Status.MigrationState.TargetNode != ""
}

func isFinished(state *kubevirtv1.VirtualMachineInstanceMigrationState) bool {
	return state.EndTimestamp != nil && (state.Completed || state.Failed)
}

// breakOff fails a migration that cannot continue: it was aborted, or its target has ended.
func (h *Hypervisor) breakOff(ctx context.Context, seen *world) (bool, error) {
	state := seen.guest.Status.MigrationState
	switch {
	case state.AbortRequested:
		return true, h.fail(ctx, seen, "Live migration aborted", func(guest *kubevirtv1.VirtualMachineInstance) {
			guest.Status.MigrationState.AbortStatus = kubevirtv1.MigrationAbortSucceeded
		})
	case state.StartTimestamp != nil && (!h.isUp(state.TargetNode) || h.launcherOn(seen, state.TargetNode) == nil):
		return true, h.failCounted(ctx, seen, "Live migration failed: target is gone")
	}
	return false, nil
}

// listen makes the target ready to receive.
func (h *Hypervisor) listen(ctx context.Context, seen *world) error {
	state := seen.guest.Status.MigrationState
	isAnnounced := seen.guest.Labels[kubevirtv1.MigrationTargetNodeNameLabel] == state.TargetNode
	if !isAnnounced || !h.isUp(state.TargetNode) || h.launcherOn(seen, state.TargetNode) == nil || seen.guest.Annotations[MigrationHangs] == HangTarget {
		return nil
	}
	return h.migrate(ctx, seen, "Target listens", func(state *kubevirtv1.VirtualMachineInstanceMigrationState) {
		state.TargetNodeAddress = targetAddress
		state.TargetDirectMigrationNodePorts = map[string]int{targetPort: 0}
	})
}

// begin makes the source start to send.
func (h *Hypervisor) begin(ctx context.Context, seen *world) error {
	if !h.isUp(seen.guest.Status.MigrationState.SourceNode) {
		return nil
	}
	return h.migrate(ctx, seen, "Migration started", func(state *kubevirtv1.VirtualMachineInstanceMigrationState) {
		now := metav1.Now()
		state.StartTimestamp, state.Mode = &now, kubevirtv1.MigrationPreCopy
	})
}

// transfer waits for the duration of the migration, then completes it or fails it.
func (h *Hypervisor) transfer(ctx context.Context, seen *world) (reconcile.Result, error) {
	guest, state := seen.guest, seen.guest.Status.MigrationState
	if !h.isUp(state.SourceNode) || guest.Annotations[MigrationHangs] == HangSource {
		return reconcile.Result{}, nil
	}
	if wait := time.Until(state.StartTimestamp.Add(duration(guest, MigrationDuration, defaultMigration))); wait > 0 {
		return reconcile.Result{RequeueAfter: wait}, nil
	}
	if isDue(guest, MigrationFails) {
		return reconcile.Result{}, h.failCounted(ctx, seen, "Live migration failed: it was asked to")
	}
	return reconcile.Result{}, h.arrive(ctx, seen)
}

// arrive makes the guest run on the target, which is its host from then on.
func (h *Hypervisor) arrive(ctx context.Context, seen *world) error {
	if !seen.guest.Status.MigrationState.TargetNodeDomainDetected {
		return h.migrate(ctx, seen, "Target has the guest", func(state *kubevirtv1.VirtualMachineInstanceMigrationState) {
			now := metav1.Now()
			state.TargetNodeDomainDetected, state.TargetNodeDomainReadyTimestamp = true, &now
		})
	}
	return h.write(ctx, seen, "Guest has moved", func(guest *kubevirtv1.VirtualMachineInstance) {
		now, state := metav1.Now(), guest.Status.MigrationState
		state.EndTimestamp = &now
		guest.Labels[kubevirtv1.NodeNameLabel] = state.TargetNode
		delete(guest.Labels, kubevirtv1.OutdatedLauncherImageLabel)
		delete(guest.Annotations, kubevirtv1.EvictionSourceAnnotation)
		guest.Status.NodeName, guest.Status.EvacuationNodeName = state.TargetNode, ""
		guest.Status.LauncherContainerImageVersion = ""
		guest.Status.MigrationTransport = kubevirtv1.MigrationTransportUnix
	})
}

func (h *Hypervisor) complete(ctx context.Context, seen *world) error {
	if !h.isUp(seen.guest.Status.MigrationState.TargetNode) {
		return nil
	}
	return h.migrate(ctx, seen, "Migration completed", func(state *kubevirtv1.VirtualMachineInstanceMigrationState) { state.Completed = true })
}

// cleanUp is the target's last step, whatever the result of the migration.
func (h *Hypervisor) cleanUp(ctx context.Context, seen *world) error {
	guest := seen.guest
	if guest.Labels[kubevirtv1.MigrationTargetNodeNameLabel] != guest.Status.MigrationState.TargetNode || !h.isUp(guest.Status.MigrationState.TargetNode) {
		return nil
	}
	return h.write(ctx, seen, "Target cleaned up", func(guest *kubevirtv1.VirtualMachineInstance) {
		delete(guest.Labels, kubevirtv1.MigrationTargetNodeNameLabel)
		delete(guest.Annotations, kubevirtv1.CreateMigrationTarget)
	})
}

// failCounted fails a migration for a reason that a test may have requested for a number of times.
func (h *Hypervisor) failCounted(ctx context.Context, seen *world, why string) error {
	return h.fail(ctx, seen, why, func(guest *kubevirtv1.VirtualMachineInstance) {
		if guest.Annotations == nil {
			guest.Annotations = map[string]string{}
		}
		guest.Annotations[MigrationsFailed] = strconv.Itoa(failed(guest) + 1)
	})
}

func (h *Hypervisor) fail(ctx context.Context, seen *world, why string, change func(*kubevirtv1.VirtualMachineInstance)) error {
	return h.write(ctx, seen, "Migration failed: "+why, func(guest *kubevirtv1.VirtualMachineInstance) {
		now, state := metav1.Now(), guest.Status.MigrationState
		state.Failed, state.Completed, state.EndTimestamp, state.FailureReason = true, true, &now, why
		change(guest)
	})
}

func (h *Hypervisor) migrate(ctx context.Context, seen *world, what string, change func(*kubevirtv1.VirtualMachineInstanceMigrationState)) error {
	to := fmt.Sprintf("%s (to %s)", what, seen.guest.Status.MigrationState.TargetNode)
	return h.write(ctx, seen, to, func(guest *kubevirtv1.VirtualMachineInstance) { change(guest.Status.MigrationState) })
}

// isTarget reports whether a launcher is the target of the guest's last migration.
func isTarget(guest *kubevirtv1.VirtualMachineInstance, pod *corev1.Pod) bool {
	return guest.Status.MigrationState != nil && pod.Name == guest.Status.MigrationState.TargetPod
}

// hasFailed reports whether the guest's last migration has failed.
func hasFailed(guest *kubevirtv1.VirtualMachineInstance) bool {
	state := guest.Status.MigrationState
	return state != nil && state.Failed && state.EndTimestamp != nil
}

// vanishes reports whether the target of a running migration has to die now.
func vanishes(guest *kubevirtv1.VirtualMachineInstance) bool {
	state := guest.Status.MigrationState
	return state.StartTimestamp != nil && state.EndTimestamp == nil && isDue(guest, TargetVanishes)
}

// isLeft reports whether a launcher is the one that the guest has migrated away from.
func isLeft(guest *kubevirtv1.VirtualMachineInstance, pod *corev1.Pod) bool {
	state := guest.Status.MigrationState
	return state != nil && state.Completed && !state.Failed && pod.Name == state.SourcePod
}
