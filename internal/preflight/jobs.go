// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package preflight

import (
	"context"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/workload"
)

// storageJobs read or write disks of virtual machines, as those of residents do. One that is broken off half-way is lost, and
// a restore that is broken off leaves a machine that does not start.
var storageJobs = []workload.JobKind{
	{Kind: schema.GroupKind{Group: "snapshot.storage.k8s.io", Kind: "VolumeSnapshot"}, Doing: "a snapshot is being taken", IsDone: workload.IsReadyToUse},
	{Kind: schema.GroupKind{Group: "harvesterhci.io", Kind: "VirtualMachineBackup"}, Doing: "a virtual machine is being backed up", IsDone: workload.IsReadyToUse},
	{Kind: schema.GroupKind{Group: "harvesterhci.io", Kind: "VirtualMachineRestore"}, Doing: "a virtual machine is being restored", IsDone: workload.IsComplete},
}

// foreignJobs are upgrades of nodes, or of the whole cluster, by others.
var foreignJobs = []workload.JobKind{
	{Kind: schema.GroupKind{Group: "upgrade.cattle.io", Kind: "Plan"}, Doing: "system-upgrade-controller is changing nodes", IsDone: isPlanIdle, NodesOf: appliedTo},
	{Kind: schema.GroupKind{Group: "harvesterhci.io", Kind: "Upgrade"}, Doing: "Harvester is being upgraded", IsDone: isHarvesterUpgraded},
}

// readJobs reads them after the states of residents, which have jobs of their own.
func readJobs(ctx context.Context, in *optional, s *Services) (err error) {
	s.Jobs, err = workload.Unfinished(ctx, in, storageJobs...)
	for _, state := range s.States {
		s.Jobs = append(s.Jobs, state.Jobs()...)
	}
	sortJobs(s.Jobs)
	return err
}

func readForeign(ctx context.Context, in *optional, s *Services) (err error) {
	s.Foreign, err = workload.Unfinished(ctx, in, foreignJobs...)
	sortJobs(s.Foreign)
	return err
}

func sortJobs(jobs []workload.Job) {
	slices.SortFunc(jobs, func(a, b workload.Job) int { return strings.Compare(a.Object, b.Object) })
}

func isPlanIdle(plan map[string]any) bool {
	return len(appliedTo(&unstructured.Unstructured{Object: plan})) == 0
}

// appliedTo are the Nodes that a Plan is being applied to, by their label kubernetes.io/hostname or, without it, by name.
// Source: system-upgrade-controller, pkg/apis/upgrade.cattle.io/v1/types.go and pkg/upgrade/node.
func appliedTo(plan *unstructured.Unstructured) []string {
	applying, _, _ := unstructured.NestedStringSlice(plan.Object, "status", "applying")
	return applying
}

func isHarvesterUpgraded(object map[string]any) bool {
	state, _, _ := unstructured.NestedString(object, "metadata", "labels", "harvesterhci.io/upgradeState")
	return state == "Succeeded" || state == "Failed"
}

func checkBackups(s *Snapshot, subject *Subject) []infrav1.PreflightResult {
	return subject.judgeJobs(s.Jobs, ": wait until that is done, or delete it")
}

// judgeJobs has an attempt that has taken its slot wait only for what may be done on its own node.
func (s *Subject) judgeJobs(jobs []workload.Job, remedy string) []infrav1.PreflightResult {
	found := []infrav1.PreflightResult{}
	for _, job := range jobs {
		judge := block
		if s.Admitted && !job.Concerns(s.Node) {
			judge = warn
		}
		found = append(found, judge(job.Object, job.Doing+remedy)...)
	}
	return found
}
