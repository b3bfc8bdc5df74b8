// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package machine

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/cluster-api/util/conditions"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/condition"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/hoststate"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/owner"
)

// judgeMark reports that the mark of an update in place was restored, and that it is lost each time. It is written once for each, however often
// that happens. It ends when the host runs the OS, or another is wanted.
func judgeMark(f osFacts, known *metav1.Condition, restored bool) {
	const restoring = infrav1.UpdateMarkRestoredCondition
	m := f.machine
	message := lostMark(f)
	isKnown := known != nil && known.Status == metav1.ConditionTrue && known.Message == message
	switch {
	case restored && isKnown:
		condition.TrueBecause(m, restoring, infrav1.MarkLostAgainReason, "%s", message)
	case restored:
		condition.TrueBecause(m, restoring, infrav1.MarkLostReason, "%s", message)
	case known != nil && (!isKnown || f.match() == hoststate.MatchSame && !f.isMarked()):
		condition.False(m, restoring, infrav1.MarkNotLostReason, "")
	}
}

// isMarked reports whether Cluster API updates the machine in place.
func (f osFacts) isMarked() bool {
	return owner.IsUpdating(f.machine) || f.owner != nil && owner.IsUpdating(f.owner)
}

// lostMark identifies the update: it is the same while the machine, its host and the OS are.
func lostMark(f osFacts) string {
	if f.owner == nil || f.host == nil {
		return ""
	}
	return fmt.Sprintf("Machine %s lost annotation update-in-progress before ElementalHost %s ran %s, and it was restored. "+
		"If it is lost again and again, find out who removes it, and compare status.os of the ElementalHost with the attempts on the Machine",
		f.owner.Name, f.host.Name, describeOS(f.machine.Spec.OSVersionManagement))
}

// recordMark tells of a restored mark once it is stored, and once more if that does not help.
func (r *Reconciler) recordMark(was *metav1.Condition, after *infrav1.ElementalMachine) {
	is := conditions.Get(after, infrav1.UpdateMarkRestoredCondition)
	if is == nil || is.Status != metav1.ConditionTrue || was != nil && was.Reason == is.Reason && was.Message == is.Message {
		return
	}
	action, note := "RestoreMark", is.Message
	if is.Reason == infrav1.MarkLostAgainReason {
		action, note = "RestoreMarkAgain", "Lost again: "+note // with the same action the recorder would count it as the first
	}
	r.Recorder.Eventf(after, nil, corev1.EventTypeWarning, infrav1.EventUpdateMarkRestored, action, "%s", note)
}
