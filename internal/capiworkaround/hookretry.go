// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package capiworkaround

import (
	"time"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/annotations"
	"sigs.k8s.io/cluster-api/util/conditions"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
)

// hookRetry is how often Cluster API is made to call a hook whose calls fail.
const hookRetry = 15 * time.Second

// RetryHook makes Cluster API call UpdateMachine again after calls that failed, for example because another extension
// claimed the namespace, or because this manager was down. By itself it would wait ever longer, up to 17 minutes, after
// what was in the way is gone. It looks at a Machine whenever its ElementalMachine is written: RetryHook changes an
// annotation of that, which the caller writes. after is when to call it again; zero where no call fails.
func RetryHook(owner *clusterv1.Machine, machine *infrav1.ElementalMachine, now time.Time) (after time.Duration) {
	last, asked := machine.Annotations[infrav1.HookRetryAnnotation]
	if owner == nil || !HookFails(owner) {
		if asked {
			delete(machine.Annotations, infrav1.HookRetryAnnotation)
		}
		return 0
	}
	if at, err := time.Parse(time.RFC3339, last); err == nil && now.Before(at.Add(hookRetry)) && !at.After(now) {
		return at.Add(hookRetry).Sub(now)
	}
	annotations.AddAnnotations(machine, map[string]string{infrav1.HookRetryAnnotation: now.UTC().Format(time.RFC3339)})
	return hookRetry
}

// HookFails reports whether Cluster API's last call of UpdateMachine for a Machine failed.
func HookFails(owner *clusterv1.Machine) bool {
	return conditions.GetReason(owner, clusterv1.MachineUpdatingCondition) == clusterv1.MachineInPlaceUpdateFailedReason
}
