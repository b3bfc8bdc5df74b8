// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package kubevirt

import (
	"cmp"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	kubevirtv1 "kubevirt.io/api/core/v1"
)

// maxFailures is after how many failed migrations a virtual machine is left to a person. KubeVirt waits 20 s after
// the first failure, and doubles that with each (pkg/virt-controller/watch/migration).
const maxFailures = 3

// blockedPrefix begins the conditions of a migration that something stands against. KubeVirt after 1.7 has
// migrationBlockedByBackup and migrationBlockedByUtilityVolumes.
const blockedPrefix = "migrationBlockedBy"

// history is what has become of the migrations of a virtual machine. KubeVirt keeps the last five that have ended.
type history struct {
	unfinished *kubevirtv1.VirtualMachineInstanceMigration
	// failed are those that failed since the last that did not, oldest first.
	failed []*kubevirtv1.VirtualMachineInstanceMigration
	// ended are the UIDs of those that have ended, oldest first.
	ended []string
}

// histories of all virtual machines, by namespace and name.
func histories(migrations []kubevirtv1.VirtualMachineInstanceMigration) map[string]history {
	sorted := make([]*kubevirtv1.VirtualMachineInstanceMigration, 0, len(migrations))
	for i := range migrations {
		sorted = append(sorted, &migrations[i])
	}
	slices.SortFunc(sorted, func(a, b *kubevirtv1.VirtualMachineInstanceMigration) int {
		return cmp.Or(a.CreationTimestamp.Compare(b.CreationTimestamp.Time), cmp.Compare(a.Name, b.Name))
	})
	all := map[string]history{}
	for _, migration := range sorted {
		key := migration.Namespace + "/" + migration.Spec.VMIName
		known := all[key]
		switch migration.Status.Phase {
		case kubevirtv1.MigrationSucceeded:
			known.failed = nil
		case kubevirtv1.MigrationFailed:
			known.failed = append(known.failed, migration)
		default:
			known.unfinished = migration
		}
		if migration.IsFinal() {
			known.ended = append(known.ended, string(migration.UID))
		}
		all[key] = known
	}
	return all
}

// failures counts the migrations that were made, and failed, since a time.
func (h history) failures(since time.Time) int {
	count := 0
	for _, migration := range h.failed {
		// Stored times have whole seconds.
		if !since.IsZero() && !migration.CreationTimestamp.Time.Before(since.Truncate(time.Second)) {
			count++
		}
	}
	return count
}

// lastFailure is the part of a message that says why the last migration failed, of which there is one.
func (h history) lastFailure() string {
	last := h.failed[len(h.failed)-1]
	if state := last.Status.MigrationState; state != nil && state.FailureReason != "" {
		return " (" + state.FailureReason + ")"
	}
	return ""
}

// blockedBy says what stands against a migration; empty if nothing does.
func blockedBy(migration *kubevirtv1.VirtualMachineInstanceMigration) string {
	for _, condition := range migration.Status.Conditions {
		isBlock := condition.Type == kubevirtv1.VirtualMachineInstanceMigrationRejectedByResourceQuota ||
			strings.HasPrefix(string(condition.Type), blockedPrefix)
		if isBlock && condition.Status == corev1.ConditionTrue {
			return because(string(condition.Type), condition.Message)
		}
	}
	return ""
}

// hasTarget reports whether a migration has found its node, where the Pod that waits for it takes the room already.
func (d *decider) hasTarget(migration *kubevirtv1.VirtualMachineInstanceMigration) bool {
	return !isScheduling(migration) || d.targeted[string(migration.UID)]
}

// isScheduling reports whether a migration has not said yet that it has found its node.
func isScheduling(migration *kubevirtv1.VirtualMachineInstanceMigration) bool {
	switch migration.Status.Phase {
	case kubevirtv1.MigrationPhaseUnset, kubevirtv1.MigrationPending, kubevirtv1.MigrationScheduling:
		return true
	}
	return false
}
