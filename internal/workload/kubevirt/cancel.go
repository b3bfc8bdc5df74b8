// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package kubevirt

import (
	"context"
	"errors"
	"fmt"

	kubevirtv1 "kubevirt.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/workload"
)

// Cancel takes an evacuation back that has not come to its end: marks are cleared where KubeVirt lets them, migrations
// that have not ended are deleted, and the taint is removed. What a migration has done already stays. It is one pass,
// and is repeated until it is done.
func Cancel(ctx context.Context, e Evacuation) (Progress, error) {
	return undoing(e.cancel(ctx))
}

func (e Evacuation) cancel(ctx context.Context) error {
	snapshot, err := e.readMarks(ctx)
	if err != nil {
		return err
	}
	// KubeVirt does not cancel anything on a Node with the taint.
	if err := untaint(ctx, e.Client, e.Node, snapshot.KubeVirt); err != nil {
		return err
	}
	if isAtLeast(snapshot.KubeVirt, cancelsEvacuation) {
		for i := range snapshot.Instances {
			if err := e.unmark(ctx, &snapshot.Instances[i]); err != nil {
				return err
			}
		}
	}
	for i := range snapshot.Migrations {
		migration := &snapshot.Migrations[i]
		forNode := migration.Annotations[kubevirtv1.EvacuationMigrationAnnotation] == e.Node.Name && !migration.IsFinal()
		if forNode || e.made(migration) {
			if err := e.deleteMigration(ctx, migration); err != nil {
				return err
			}
		}
	}
	return nil
}

// readMarks reads what an evacuation may have left.
func (e Evacuation) readMarks(ctx context.Context) (*Snapshot, error) {
	kubeVirts, instances := &kubevirtv1.KubeVirtList{}, &kubevirtv1.VirtualMachineInstanceList{}
	migrations := &kubevirtv1.VirtualMachineInstanceMigrationList{}
	if err := list(ctx, e.Client, kubeVirts); err != nil {
		return nil, err
	}
	if err := list(ctx, e.Client, instances, client.MatchingLabels{kubevirtv1.NodeNameLabel: e.Node.Name}); err != nil {
		return nil, err
	}
	if err := list(ctx, e.Client, migrations); err != nil {
		return nil, err
	}
	snapshot := &Snapshot{Instances: instances.Items, Migrations: migrations.Items}
	if len(kubeVirts.Items) > 0 {
		snapshot.KubeVirt = &kubeVirts.Items[0]
	}
	return snapshot, nil
}

// made reports whether a migration is of this attempt, or of one before it on the same Node.
func (e Evacuation) made(migration *kubevirtv1.VirtualMachineInstanceMigration) bool {
	return isOurs(migration) && (migration.Annotations[infrav1.EvacuatedByAnnotation] == e.Attempt ||
		e.Node.Name != "" && migration.Annotations[kubevirtv1.EvacuationMigrationAnnotation] == e.Node.Name)
}

// unmark makes KubeVirt forget the eviction of an instance.
func (e Evacuation) unmark(ctx context.Context, vmi *kubevirtv1.VirtualMachineInstance) error {
	if e.Canceller == nil || vmi.Status.EvacuationNodeName != e.Node.Name {
		return nil
	}
	err := write(ctx, func(ctx context.Context) error { return e.Canceller(ctx, client.ObjectKeyFromObject(vmi), e.Node.Name) })
	if isRefused(err) || client.IgnoreNotFound(err) == nil {
		return nil // the mark is gone, or KubeVirt keeps it
	}
	return fmt.Errorf("cancelling the evacuation of VirtualMachineInstance %s: %w", keyOf(vmi), err)
}

func (e Evacuation) deleteMigration(ctx context.Context, migration *kubevirtv1.VirtualMachineInstanceMigration) error {
	if !migration.DeletionTimestamp.IsZero() {
		return nil
	}
	err := write(ctx, func(ctx context.Context) error {
		return e.Client.Delete(ctx, migration, client.Preconditions{UID: &migration.UID})
	})
	if ignoreChanged(err) != nil {
		return fmt.Errorf("deleting VirtualMachineInstanceMigration %s: %w", keyOf(migration), err)
	}
	return nil
}

// undoing turns what an undoing came to into its progress.
func undoing(err error) (Progress, error) {
	if errors.Is(err, errUnanswered) {
		return Progress{Progress: workload.Progress{Held: true, Message: errUnanswered.Error()}}, nil
	}
	return Progress{Progress: workload.Progress{Done: err == nil}}, err
}
