// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package kubevirt

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"
	kubevirtv1 "kubevirt.io/api/core/v1"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/workload"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/workload/drainwatch"
)

// Resident is KubeVirt as an upgrade of a Node meets it.
type Resident struct{ workload.Nothing }

var _ workload.Resident = Resident{}

// Name is that of the project.
func (Resident) Name() string { return "KubeVirt" }

// Owns the Pods of virtual machines: they are evacuated, each as was decided for it, and an eviction that KubeVirt does not
// know of stops a guest.
func (r Resident) Owns(ctx context.Context, in *workload.Cluster) (func(*corev1.Pod) bool, error) {
	if installed, err := r.Present(ctx, in, nil); err != nil || !installed {
		return nil, err
	}
	return OwnsPod, nil
}

// NodeLabel is virt-handler's.
func (Resident) NodeLabel() string { return SchedulableLabel }

// Leaving are VirtualMachineInstances.
func (Resident) Leaving() []drainwatch.Kind {
	return []drainwatch.Kind{drainwatch.Labelled(kubevirtv1.GroupVersion.WithKind("VirtualMachineInstanceList"), kubevirtv1.NodeNameLabel)}
}

// Foresee decides on the virtual machines of the Nodes, and does nothing about them.
func (Resident) Foresee(ctx context.Context, in *workload.Cluster, nodes []string, policy infrav1.VMPolicy) (map[string][]infrav1.VirtualMachineStatus, error) {
	if installed, err := Installed(ctx, in.Live()); err != nil || !installed {
		return nil, err
	}
	snapshot, err := Read(ctx, in.Live())
	if err != nil {
		return nil, err
	}
	foreseen := map[string][]infrav1.VirtualMachineStatus{}
	for _, node := range nodes {
		foreseen[node] = statuses(Decide(snapshot, Question{Node: node, Policy: policy}))
	}
	return foreseen, nil
}

// Evacuate moves virtual machines, stops them, or waits, as was decided for each.
func (Resident) Evacuate(ctx context.Context, in *workload.Cluster, e workload.Evacuation) (workload.Progress, error) {
	return progressOf(Evacuate(ctx, evacuationOf(in, e)))
}

// Active names virtual machines, and Pods of others.
func (Resident) Active(ctx context.Context, in *workload.Cluster, node string) ([]string, error) {
	return Active(ctx, in.Live(), node)
}

// Cancel makes KubeVirt stop moving virtual machines off a Node that stays.
func (Resident) Cancel(ctx context.Context, in *workload.Cluster, e workload.Evacuation) (workload.Progress, error) {
	return progressOf(Cancel(ctx, evacuationOf(in, e)))
}

// Restore starts again what was shut down, by what stands on the VirtualMachines.
func (Resident) Restore(ctx context.Context, in *workload.Cluster, r workload.Restoration) (workload.Progress, error) {
	return progressOf(Restore(ctx, Restoration{Restoration: r, Client: in.Live()}))
}

func evacuationOf(in *workload.Cluster, e workload.Evacuation) Evacuation {
	of := Evacuation{Evacuation: e, Client: in.Live(), Nodes: in.CachedNodes, Pods: &knownOf(in).pods}
	if config := in.Config(); config != nil {
		of.Canceller = NewCanceller(config)
	}
	return of
}

// progressOf has a Node with many virtual machines looked at less often than one with few: KubeVirt migrates two at a time by
// default, so that one with hundreds takes long.
func progressOf(progress Progress, err error) (workload.Progress, error) {
	const (
		shortest, longest = 2 * time.Second, 15 * time.Second
		perVM             = 100 * time.Millisecond
	)
	progress.After = min(max(shortest, time.Duration(progress.Left)*perVM), longest)
	progress.VirtualMachines = statuses(progress.Decisions)
	return progress.Progress, err
}

func statuses(decisions []Decision) []infrav1.VirtualMachineStatus {
	all := make([]infrav1.VirtualMachineStatus, 0, len(decisions))
	for _, decision := range decisions {
		all = append(all, decision.Status())
	}
	return all
}
