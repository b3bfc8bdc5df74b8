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
)

// jobKind is a kind whose objects stand for something that is being done.
type jobKind struct {
	kind  schema.GroupKind
	doing string
	// isDone says whether it is done, or has failed for good.
	isDone func(object map[string]any) bool
}

// storageJobs read or write disks of virtual machines. One that is broken off half-way is lost, and a restore that is
// broken off leaves a machine that does not start.
var storageJobs = []jobKind{
	{schema.GroupKind{Group: "snapshot.storage.k8s.io", Kind: "VolumeSnapshot"}, "a snapshot is being taken", isReadyToUse},
	{schema.GroupKind{Group: "harvesterhci.io", Kind: "VirtualMachineBackup"}, "a virtual machine is being backed up", isReadyToUse},
	{schema.GroupKind{Group: "harvesterhci.io", Kind: "VirtualMachineRestore"}, "a virtual machine is being restored", isComplete},
	{schema.GroupKind{Group: "snapshot.kubevirt.io", Kind: "VirtualMachineSnapshot"}, "a snapshot of a virtual machine is being taken", isReadyToUse},
	{schema.GroupKind{Group: "snapshot.kubevirt.io", Kind: "VirtualMachineRestore"}, "a virtual machine is being restored", isComplete},
	{schema.GroupKind{Group: "backup.kubevirt.io", Kind: "VirtualMachineBackup"}, "a virtual machine is being backed up", isConditionDone},
}

// foreignJobs are upgrades of nodes, or of the whole cluster, by others.
var foreignJobs = []jobKind{
	{schema.GroupKind{Group: "upgrade.cattle.io", Kind: "Plan"}, "system-upgrade-controller is changing nodes", isPlanIdle},
	{schema.GroupKind{Group: "harvesterhci.io", Kind: "Upgrade"}, "Harvester is being upgraded", isHarvesterUpgraded},
}

func readJobs(ctx context.Context, in *optional, s *Services) (err error) {
	s.Jobs, err = unfinished(ctx, in, storageJobs)
	return err
}

func readForeign(ctx context.Context, in *optional, s *Services) (err error) {
	s.Foreign, err = unfinished(ctx, in, foreignJobs)
	return err
}

func unfinished(ctx context.Context, in *optional, kinds []jobKind) ([]Job, error) {
	found := []Job{}
	for _, of := range kinds {
		objects, err := in.objects(ctx, of.kind)
		if err != nil {
			return nil, err
		}
		for i := range objects {
			if objects[i].GetDeletionTimestamp().IsZero() && !of.isDone(objects[i].Object) {
				found = append(found, Job{Object: describe(&objects[i]), Doing: of.doing})
			}
		}
	}
	slices.SortStableFunc(found, func(a, b Job) int { return strings.Compare(a.Object, b.Object) })
	return found, nil
}

func describe(object *unstructured.Unstructured) string {
	if object.GetNamespace() == "" {
		return object.GetKind() + "/" + object.GetName()
	}
	return object.GetKind() + "/" + object.GetNamespace() + "/" + object.GetName()
}

func isReadyToUse(object map[string]any) bool {
	ready, _, _ := unstructured.NestedBool(object, "status", "readyToUse")
	failure, _, _ := unstructured.NestedMap(object, "status", "error")
	return ready || len(failure) > 0
}

func isComplete(object map[string]any) bool {
	complete, _, _ := unstructured.NestedBool(object, "status", "complete")
	return complete || hasCondition(object, "Failure", "True")
}

func isConditionDone(object map[string]any) bool { return hasCondition(object, "Done", "True") }

func isPlanIdle(object map[string]any) bool {
	applying, _, _ := unstructured.NestedStringSlice(object, "status", "applying")
	return len(applying) == 0
}

func isHarvesterUpgraded(object map[string]any) bool {
	state, _, _ := unstructured.NestedString(object, "metadata", "labels", "harvesterhci.io/upgradeState")
	return state == "Succeeded" || state == "Failed"
}

func hasCondition(object map[string]any, kind, status string) bool {
	conditions, _, _ := unstructured.NestedSlice(object, "status", "conditions")
	return slices.ContainsFunc(conditions, func(c any) bool {
		condition, _ := c.(map[string]any)
		return condition["type"] == kind && condition["status"] == status
	})
}

func checkBackups(s *Snapshot, _ *Subject) []infrav1.PreflightResult {
	found := []infrav1.PreflightResult{}
	for _, job := range s.Jobs {
		found = append(found, block(job.Object, job.Doing+": wait until that is done, or delete it")...)
	}
	return found
}
