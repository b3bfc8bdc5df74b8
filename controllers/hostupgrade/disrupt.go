// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package hostupgrade

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/sequence"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/workload"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/workload/drainwatch"
)

// cordon takes the node out of service. From here to the end the host must not be moved to another management cluster. The Machine is marked for its health
// checks before anything shows that the node is out of service.
func (r *Reconciler) cordon(ctx context.Context, o *observation) (sequence.Result, error) {
	if isNew, err := r.recordUnhealthy(ctx, o); err != nil || isNew {
		return sequence.Wait(soon, "recording what is not healthy on Node %s, before it is cordoned: %s",
			o.node.Name, workload.DescribeUnhealthy(o.upgrade.Status.UnhealthyBefore)), err
	}
	if r.isNodeDead(o) {
		return r.cordonNode(ctx, o)
	}
	if waits, err := r.protect(ctx, o); waits || err != nil {
		return sequence.Wait(soon, ""), err
	}
	if result, err := r.cordonNode(ctx, o); err != nil || !result.IsDone() {
		return result, err
	}
	o.recordDisruption()
	return sequence.Done(), nil
}

// cordonNode makes the node unschedulable in our name. The only Node of a cluster is marked instead: what graceful shutdown ends, this manager's own Pod perhaps
// among it, has nowhere else to run; and so is one that Rancher has cordoned.
func (r *Reconciler) cordonNode(ctx context.Context, o *observation) (sequence.Result, error) {
	if workload.CordonedBy(o.node) == o.attempt && (o.drain == nil || o.node.Spec.Unschedulable) {
		return sequence.Done(), nil
	}
	if err := r.blockMove(ctx, o); err != nil {
		return sequence.Result{}, err
	}
	if o.drain != nil {
		return r.mark(ctx, o)
	}
	isOnly, err := o.workload.IsOnlyNode(ctx)
	switch {
	case err != nil:
		return sequence.Result{}, err
	case isOnly:
		return sequence.Done(), o.workload.Mark(ctx, o.node, o.attempt)
	}
	return sequence.Done(), o.workload.Cordon(ctx, o.node, o.attempt)
}

func (r *Reconciler) blockMove(ctx context.Context, o *observation) error {
	return r.patchHost(ctx, o, "keeping clusterctl from moving", setBlockMove)
}

func setBlockMove(host *infrav1.ElementalHost) {
	if host.Annotations == nil {
		host.Annotations = map[string]string{}
	}
	host.Annotations[infrav1.BlockMoveAnnotation] = ""
}

// uncordon removes this attempt's cordon.
func (r *Reconciler) uncordon(ctx context.Context, o *observation) (sequence.Result, error) {
	if err := o.workload.Uncordon(ctx, o.node, o.attempt); err != nil {
		return sequence.Result{}, err
	}
	o.recordDisruptionEnd()
	return sequence.Done(), nil
}

// maxVirtualMachines is how many virtual machines an attempt reports at most; see the field.
const maxVirtualMachines = 1000

// evacuateVMs makes the virtual machines of the node leave it: each is moved, stopped or waited for, as was decided
// for it. A cluster in which nothing runs them has none.
func (r *Reconciler) evacuateVMs(ctx context.Context, o *observation) (sequence.Result, error) {
	residents, err := o.workload.On(ctx, o.node)
	if err != nil || len(residents) == 0 {
		return sequence.Done(), err
	}
	isWatched := r.watchDrain(ctx, o, append([]drainwatch.Kind{drainwatch.Pods}, residents.Leaving()...)...)
	progress, err := residents.InTurn(func(resident workload.Resident) (workload.Progress, error) {
		return resident.Evacuate(ctx, o.workload, r.evacuation(o))
	})
	if err != nil {
		return sequence.Result{}, err
	}
	reportVMs(&o.upgrade.Status, progress.VirtualMachines)
	if progress.Done {
		return sequence.Done(), nil
	}
	// However many leave at the same time, the Node is looked at no more often than it would be without the watch.
	r.drains.SetPace(o.reconcileRequest(), progress.After)
	after := poll(isWatched, progress.After)
	if progress.Held {
		after = max(progress.After, o.pollUntold(stepEvacuateVMs))
	}
	return sequence.Wait(after, "%s%s", progress.Message,
		o.late(stepEvacuateVMs, o.options.Timeouts.Evacuation(), helpsEvacuation+stillThere(progress))), nil
}

// stillThere is the part of a message that names virtual machines that were to leave and have not; empty where the message does.
func stillThere(progress workload.Progress) string {
	names := []string{}
	for _, vm := range progress.VirtualMachines {
		if vm.Decision != infrav1.VMIgnore {
			names = append(names, keyOf(vm)+" ("+vm.Reason+")")
		}
	}
	if progress.Held || len(names) == 0 {
		return ""
	}
	const named = 3
	more := ""
	if len(names) > named {
		more, names = fmt.Sprintf(" and %d more", len(names)-named), names[:named]
	}
	return ": " + strings.Join(names, ", ") + more
}

func (r *Reconciler) evacuation(o *observation) workload.Evacuation {
	return workload.Evacuation{
		Node: o.node, Attempt: o.attempt, Policy: o.options.VMPolicy, Observed: &r.observed, Now: o.now,
	}
}

// reportVMs brings the report up to date. What has left the node keeps its entry, so that it can be read afterwards
// what became of it.
func reportVMs(status *infrav1.ElementalHostUpgradeStatus, found []infrav1.VirtualMachineStatus) {
	known := map[string]infrav1.VirtualMachineStatus{}
	for _, vm := range status.VirtualMachines {
		if vm.Decision == infrav1.VMBlock {
			vm.Decision, vm.Reason = infrav1.VMIgnore, "has left the node"
		}
		known[keyOf(vm)] = vm
	}
	for _, vm := range found {
		if before, ok := known[keyOf(vm)]; ok && vm.Decision == infrav1.VMIgnore && before.Decision != infrav1.VMIgnore {
			continue // it goes the way that was decided for it
		}
		known[keyOf(vm)] = vm
	}
	reports := slices.SortedFunc(maps.Values(known), func(a, b infrav1.VirtualMachineStatus) int {
		return strings.Compare(keyOf(a), keyOf(b))
	})
	status.VirtualMachines = mostUrgent(reports)
}

func keyOf(vm infrav1.VirtualMachineStatus) string { return vm.Namespace + "/" + vm.Name }

// mostUrgent cuts a report that is too long; those that hold the evacuation stay.
func mostUrgent(reports []infrav1.VirtualMachineStatus) []infrav1.VirtualMachineStatus {
	if len(reports) <= maxVirtualMachines {
		return reports
	}
	slices.SortStableFunc(reports, func(a, b infrav1.VirtualMachineStatus) int { return urgency(a) - urgency(b) })
	return reports[:maxVirtualMachines]
}

func urgency(vm infrav1.VirtualMachineStatus) int {
	return slices.Index([]infrav1.VMDecision{
		infrav1.VMBlock, infrav1.VMShutdownAndRestore, infrav1.VMShutdown, infrav1.VMMigrate, infrav1.VMIgnore,
	}, vm.Decision)
}

// virtualMachinesOn says what is left of virtual machines on the node; empty if nothing is.
func (r *Reconciler) virtualMachinesOn(ctx context.Context, o *observation) (string, error) {
	if o.workload == nil || o.node == nil {
		return "", nil
	}
	residents, err := o.workload.On(ctx, o.node)
	if err != nil {
		return "", err
	}
	for _, resident := range residents {
		active, err := resident.Active(ctx, o.workload, o.node.Name)
		if err != nil {
			return "", err
		}
		if len(active) > 0 {
			return fmt.Sprintf("%s runs on Node %s again: waiting for it to leave", active[0], o.node.Name), nil
		}
	}
	return "", nil
}

// keptOff is the part of a message that names what was shut down for an attempt that is held back again, at a step before
// the evacuation, where nobody would expect it.
func (o *observation) keptOff(step string) string {
	if o.triggered() || !slices.Contains([]string{stepPreflight, stepPrefetch, stepApprove, stepAdmit}, step) {
		return ""
	}
	off := o.stoppedVMs()
	if off != "" {
		off += " (spec.cancel starts them again)"
	}
	return off
}

// stoppedNone reports whether it is known, without the workload cluster, that no virtual machine was shut down for the attempt.
func (o *observation) stoppedNone() bool {
	return !o.wasMoved() && o.stoppedVMs() == ""
}

// stoppedVMs is the part of a message that names the virtual machines that were shut down for the attempt.
func (o *observation) stoppedVMs() string {
	names := []string{}
	for _, vm := range o.upgrade.Status.VirtualMachines {
		if vm.Decision == infrav1.VMShutdown || vm.Decision == infrav1.VMShutdownAndRestore {
			names = append(names, vm.Namespace+"/"+vm.Name)
		}
	}
	if len(names) == 0 {
		return ""
	}
	return "; virtual machines that were shut down for it stay off: " + strings.Join(names, ", ")
}

// drain evicts the Pods of the node, as Cluster API would: ordinary ones, and then those that serve their volumes. Those of the only
// Node of a cluster are left to the graceful shutdown of its kubelet, and their volumes stay attached.
func (r *Reconciler) drain(ctx context.Context, o *observation) (sequence.Result, error) {
	if keepsPods, err := r.keepsPods(ctx, o); err != nil || keepsPods {
		return sequence.Done(), err
	}
	isWatched := r.watchDrain(ctx, o, drainwatch.Pods, drainwatch.Volumes)
	readyForStorage := func(ctx context.Context) (string, error) { return r.readyForStorage(ctx, o) }
	drained, blocker, err := o.workload.Drain(ctx, o.cluster, o.machine, o.node, r.leaving(o), readyForStorage)
	if err != nil {
		return sequence.Result{}, err
	}
	if drained {
		return sequence.Done(), nil
	}
	message, after := "evicting the Pods of Node "+o.node.Name, poll(isWatched, pollPods)
	if blocker != "" {
		message, after = blocker, o.pollUntold(stepDrain)
	}
	return sequence.Wait(after, "%s%s", message, o.late(stepDrain, o.options.Timeouts.Drain(), helpsDrain)), nil
}

// leaving is what was seen of what leaves the node.
func (r *Reconciler) leaving(o *observation) workload.Leaving {
	return workload.Leaving{Observed: &r.observed, Now: o.now}
}

// readyForStorage says what is waited for before Pods that serve volumes are evicted: somebody has to detach those of the
// Pods that have gone. What serves them may hold data of the volumes too, which must not be made up for elsewhere.
func (r *Reconciler) readyForStorage(ctx context.Context, o *observation) (waitFor string, err error) {
	volumes, err := o.workload.AttachedVolumes(ctx, o.node, r.leaving(o))
	if err != nil {
		return "", err
	}
	if len(volumes) > 0 {
		return "waiting for volumes to be detached from Node " + o.node.Name + ", before the Pods that serve them are evicted: " +
			strings.Join(volumes, ", "), nil
	}
	return "", o.workload.HoldResidents(ctx, o.attempt)
}

// detachVolumes waits until the volumes of the evicted Pods are detached.
func (r *Reconciler) detachVolumes(ctx context.Context, o *observation) (sequence.Result, error) {
	if keepsPods, err := r.keepsPods(ctx, o); err != nil || keepsPods {
		return sequence.Done(), err
	}
	isWatched := r.watchDrain(ctx, o, drainwatch.Pods, drainwatch.Volumes)
	volumes, err := o.workload.AttachedVolumes(ctx, o.node, r.leaving(o))
	if err != nil {
		return sequence.Result{}, err
	}
	others, err := o.workload.AttachedByResidents(ctx, o.node.Name)
	if err != nil {
		return sequence.Result{}, err
	}
	if waitFor := slices.Concat(volumes, others); len(waitFor) > 0 {
		// What residents have attached is not watched.
		return sequence.Wait(poll(isWatched && len(others) == 0, pollPods), "waiting for volumes to be detached from Node %s: %s%s", o.node.Name,
			strings.Join(waitFor, ", "), o.late(stepDetachVolumes, o.options.Timeouts.Drain(), helpsVolumes)), nil
	}
	return sequence.Done(), o.workload.HoldResidents(ctx, o.attempt)
}
