// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package kubevirt

import (
	"context"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/workload"
)

// Jobs are snapshots, restores and backups of virtual machines.
func (k *Installation) Jobs() []workload.Job { return k.jobs }

func readJobs(ctx context.Context, in workload.Reading, k *Installation) (err error) {
	k.jobs, err = workload.Unfinished(ctx, in,
		workload.JobKind{
			Kind:  schema.GroupKind{Group: "snapshot.kubevirt.io", Kind: "VirtualMachineSnapshot"},
			Doing: "a snapshot of a virtual machine is being taken", IsDone: workload.IsReadyToUse,
		},
		workload.JobKind{
			Kind:  schema.GroupKind{Group: "snapshot.kubevirt.io", Kind: "VirtualMachineRestore"},
			Doing: "a virtual machine is being restored", IsDone: workload.IsComplete,
		},
		workload.JobKind{
			Kind:  schema.GroupKind{Group: "backup.kubevirt.io", Kind: "VirtualMachineBackup"},
			Doing: "a virtual machine is being backed up", IsDone: isBackedUp,
		})
	return err
}

func isBackedUp(backup map[string]any) bool { return workload.HasCondition(backup, "Done", "True") }
