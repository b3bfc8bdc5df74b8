// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package hostupgrade

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/sequence"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/workload/drainwatch"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/workload/kubevirt"
)

// maxVirtualMachines is how many virtual machines an attempt reports at most; see the field.
const maxVirtualMachines = 1000

// evacuateVMs makes the virtual machines of the node leave it: each is moved, stopped or waited for, as was decided
// for it. A cluster without KubeVirt has none.
func (r *Reconciler) evacuateVMs(ctx context.Context, o *observation) (sequence.Result, error) {
	installed, err := kubevirt.Resident{}.Present(ctx, o.workload, o.node)
	if err != nil || !installed {
		return sequence.Done(), err
	}
	isWatched := r.watchDrain(ctx, o, drainwatch.Pods, drainwatch.VirtualMachines)
	progress, err := kubevirt.Evacuate(ctx, o.evacuation())
	if err != nil {
		return sequence.Result{}, err
	}
	reportVMs(&o.upgrade.Status, progress)
	if progress.Done {
		return sequence.Done(), nil
	}
	// However many leave at the same time, the Node is looked at no more often than it would be without the watch.
	r.drains.SetPace(o.reconcileRequest(), pollVMs(progress.Left))
	after := poll(isWatched, pollVMs(progress.Left))
	if progress.Held {
		after = max(pollVMs(progress.Left), o.pollUntold(stepEvacuateVMs))
	}
	return sequence.Wait(after, "%s%s", progress.Message,
		o.overdue(stepEvacuateVMs, o.options.Timeouts.Evacuation.Duration)), nil
}

func (o *observation) evacuation() kubevirt.Evacuation {
	return kubevirt.Resident{}.Evacuation(o.workload, kubevirt.Evacuation{
		Node: o.node, Attempt: o.attempt, Policy: o.options.VMPolicy, Since: o.enteredAt(stepEvacuateVMs),
	})
}

// pollVMs is after how long the node is looked at again. KubeVirt migrates two at a time by default: a node with
// hundreds of virtual machines takes long, and is not looked at as often.
func pollVMs(left int) time.Duration {
	const (
		longest = 15 * time.Second
		perVM   = 100 * time.Millisecond
	)
	return min(max(pollPods, time.Duration(left)*perVM), longest)
}

// reportVMs brings the report up to date. What has left the node keeps its entry, so that it can be read afterwards
// what became of it.
func reportVMs(status *infrav1.ElementalHostUpgradeStatus, progress kubevirt.Progress) {
	known := map[string]infrav1.VirtualMachineStatus{}
	for _, vm := range status.VirtualMachines {
		if vm.Decision == infrav1.VMBlock {
			vm.Decision, vm.Reason = infrav1.VMIgnore, "has left the node"
		}
		known[keyOf(vm)] = vm
	}
	for _, decision := range progress.Decisions {
		vm := decision.Status()
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
	installed, err := kubevirt.Resident{}.Present(ctx, o.workload, o.node)
	if err != nil || !installed {
		return "", err
	}
	active, err := kubevirt.Active(ctx, o.workload.Live(), o.node.Name)
	if err != nil || len(active) == 0 {
		return "", err
	}
	return fmt.Sprintf("%s runs on Node %s again: waiting for it to leave", active[0], o.node.Name), nil
}

// keptOff is the part of a message that names what was shut down for an attempt that is held back anew, at a step before
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

// stoppedNone says whether it is known, without the workload cluster, that no virtual machine was shut down for the attempt.
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
