// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package host

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/hoststate"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/predicates"
)

// hostChanged lets pass what the controller looks at. Its own conditions are not among it, but for
// Paused, on whose write a reconcile ends; nor is the time at which the agent spoke.
func hostChanged() predicate.Funcs {
	return predicates.Changed(func(host *infrav1.ElementalHost) any { return []any{seen(host), predicates.PausedCondition(host)} })
}

// clusterChanged passes a Cluster that is paused or goes on. One that goes pauses nothing any more, and one that comes
// under its name may.
func clusterChanged() predicate.Funcs {
	return predicates.Changed(func(cluster *clusterv1.Cluster) any { return ptr.Deref(cluster.Spec.Paused, false) })
}

// attemptEnded passes an attempt that has ended, in another way than before, or is gone.
func attemptEnded() predicate.Funcs {
	end := func(attempt *infrav1.ElementalHostUpgrade) any {
		if phase := attempt.PhaseNow(); phase.IsEnd() {
			return phase
		}
		return ""
	}
	changed := predicates.Changed(end)
	changed.CreateFunc = func(e event.CreateEvent) bool {
		attempt, isAttempt := e.Object.(*infrav1.ElementalHostUpgrade)
		return !isAttempt || attempt.PhaseNow().IsEnd()
	}
	return changed
}

// seen is a host without what is not looked at.
func seen(host *infrav1.ElementalHost) infrav1.ElementalHost {
	status := host.Status
	status.Conditions = nil
	status.KeyFingerprint = ""
	status.Agent.LastSeen = metav1.Time{}
	status.Upgrade = seenUpgrade(host)
	metadata := predicates.MetadataOf(host)
	metadata.Annotations = predicates.Without(metadata.Annotations, infrav1.BlockMoveAnnotation)
	return infrav1.ElementalHost{ObjectMeta: metadata, Spec: host.Spec, Status: status}
}

// seenUpgrade is the upgrade of a host without its progress. Of one that an ElementalHostUpgrade reports it says whether the host may be interrupted, and
// the end.
func seenUpgrade(host *infrav1.ElementalHost) *infrav1.HostUpgradeStatus {
	upgrade := hoststate.WithoutProgress(host.Status.Upgrade)
	if upgrade == nil || host.Spec.Upgrade == nil || hoststate.Ended(upgrade.Phase) {
		return upgrade
	}
	seen := &infrav1.HostUpgradeStatus{Attempt: upgrade.Attempt, Message: upgrade.Message}
	if !hoststate.Interruptible(host) {
		seen.Phase = infrav1.HostUpgradeApplying
	}
	return seen
}
