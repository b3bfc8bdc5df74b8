// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package host

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/cluster-api/util/conditions"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/hoststate"
)

// Events are told from what was stored before and after, and after the write: one that a crash swallows
// is lost, and none is told twice.

// announceMarks tells of a run by hand whose end has just been recorded.
func (r *Reconciler) announceMarks(before, after *infrav1.ElementalHost) {
	if hoststate.ManualUpgrades(after) == hoststate.ManualUpgrades(before) {
		return
	}
	attempt, outcome, digest := hoststate.LastOutcome(after)
	unmanagedUpgrades.WithLabelValues(outcome).Inc()
	kind := corev1.EventTypeNormal
	if outcome != infrav1.InPlaceUpgradeDone {
		kind = corev1.EventTypeWarning
	}
	why := ""
	if status := after.Status.Upgrade; status != nil && status.Attempt == attempt {
		why = because(status)
	}
	r.Recorder.Eventf(after, nil, kind, infrav1.EventUnmanagedUpgradeEnded, "Upgrade",
		"The upgrade by hand to %s ended as %s; the host runs %s%s", digest, outcome, hoststate.Describe(after), why)
}

// announceConditions tells of a host that is new here, and of a run by hand that has begun.
func (r *Reconciler) announceConditions(before, after *infrav1.ElementalHost) {
	if conditions.Get(before, infrav1.RegistrationReadyCondition) == nil && conditions.IsTrue(after, infrav1.RegistrationReadyCondition) {
		r.Recorder.Eventf(after, nil, corev1.EventTypeNormal, infrav1.EventHostRegistered, "Register",
			"The host has registered through ElementalRegistration %s%s", after.Annotations[infrav1.RegistrationNameAnnotation], untilApproved(after))
	}
	if !conditions.Has(before, infrav1.IdentityInUseTwiceCondition) && conditions.Has(after, infrav1.IdentityInUseTwiceCondition) {
		r.Recorder.Eventf(after, nil, corev1.EventTypeWarning, infrav1.EventIdentityInUseTwice, "Report",
			"%s", conditions.GetMessage(after, infrav1.IdentityInUseTwiceCondition))
	}
	if !runsByHand(before) && runsByHand(after) {
		r.Recorder.Eventf(after, nil, corev1.EventTypeWarning, infrav1.EventUnmanagedUpgradeStarted, "Upgrade",
			"Upgrade triggered by hand: the node is neither drained nor uncordoned for it")
	}
}

func untilApproved(host *infrav1.ElementalHost) string {
	if host.Spec.Approved {
		return ""
	}
	return " and waits for spec.approved; the fingerprint of its key: " + host.Status.KeyFingerprint
}

// runsByHand reports whether the host is in the middle of a run by hand, as its condition has it.
func runsByHand(host *infrav1.ElementalHost) bool {
	ready := conditions.Get(host, osReady)
	return ready != nil && ready.Status == metav1.ConditionFalse && ready.Reason == infrav1.UnmanagedReason
}
