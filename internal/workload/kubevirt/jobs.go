// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package kubevirt

import (
	"context"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	kubevirtv1 "kubevirt.io/api/core/v1"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/workload"
)

// Jobs are snapshots, restores and backups of virtual machines.
func (k *Installation) Jobs() []workload.Job { return k.jobs }

// readJobs comes after readPlaces.
func readJobs(ctx context.Context, in workload.Reading, k *Installation) (err error) {
	k.jobs, err = workload.Unfinished(ctx, in,
		workload.JobKind{
			Kind:  schema.GroupKind{Group: "snapshot.kubevirt.io", Kind: "VirtualMachineSnapshot"},
			Doing: "a snapshot of a virtual machine is being taken", IsDone: workload.IsReadyToUse, NodesOf: k.placeOf("source"),
		},
		workload.JobKind{
			Kind:  schema.GroupKind{Group: "snapshot.kubevirt.io", Kind: "VirtualMachineRestore"},
			Doing: "a virtual machine is being restored", IsDone: workload.IsComplete, NodesOf: k.placeOf("target"),
		},
		workload.JobKind{
			Kind:  schema.GroupKind{Group: "backup.kubevirt.io", Kind: "VirtualMachineBackup"},
			Doing: "a virtual machine is being backed up", IsDone: isBackedUp, NodesOf: k.placeOf("source"),
		})
	return err
}

// placeOf is the Node of the virtual machine that a field of a job's spec refers to. It is not known where the machine does not
// run, or a tracker of its backups is referred to instead.
func (k *Installation) placeOf(field string) func(*unstructured.Unstructured) []string {
	return func(job *unstructured.Unstructured) []string {
		kind, _, _ := unstructured.NestedString(job.Object, "spec", field, "kind")
		name, _, _ := unstructured.NestedString(job.Object, "spec", field, "name")
		node := k.Places[types.NamespacedName{Namespace: job.GetNamespace(), Name: name}]
		if kind != kubevirtv1.VirtualMachineGroupVersionKind.Kind || node == "" {
			return nil
		}
		return []string{node}
	}
}

func isBackedUp(backup map[string]any) bool { return workload.HasCondition(backup, "Done", "True") }
