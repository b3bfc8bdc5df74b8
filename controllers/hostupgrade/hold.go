// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package hostupgrade

import (
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/conditions"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/condition"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/sequence"
)

// hold is why an attempt does not go on. Its message changes only when what is waited for changes.
type hold = infrav1.UpgradeHold

// maxHolds is the bound of status.holds in the CRD.
const maxHolds = 64

// await waits until the holds have ended, of which some may be nil; a step that has none is done. The message is that of all holds with
// the first one's reason.
func (o *observation) await(after time.Duration, holds ...*hold) sequence.Result {
	o.holds = nil
	for _, held := range holds {
		if held != nil {
			o.holds = append(o.holds, *held)
		}
	}
	if len(o.holds) == 0 {
		return sequence.Done()
	}
	messages := []string{}
	for _, held := range o.holds {
		if held.Reason == o.holds[0].Reason {
			messages = append(messages, held.Message)
		}
	}
	return sequence.Wait(after, "%s", strings.Join(messages, "; "))
}

// recordHolds stores what this reconcile has found that the attempt waits for, and whether it has its slot. A hold that was known keeps its time.
func (o *observation) recordHolds() {
	status := &o.upgrade.Status
	former := status.Holds
	status.Holds = nil
	for _, held := range o.holds[:min(len(o.holds), maxHolds)] {
		held.Since = metav1.Time{Time: o.now}
		if at := slices.IndexFunc(former, func(f hold) bool { return f.Reason == held.Reason && f.Object == held.Object }); at >= 0 {
			held.Since = former[at].Since
		}
		status.Holds = append(status.Holds, held)
	}
	admitted := metav1.Condition{Type: infrav1.UpgradeAdmittedCondition, Status: metav1.ConditionFalse, Reason: infrav1.UpgradePreparingReason}
	switch {
	case o.admitted():
		admitted.Status, admitted.Reason = metav1.ConditionTrue, infrav1.UpgradeAdmittedReason
	case len(o.holds) > 0:
		admitted.Reason, admitted.Message = string(o.holds[0].Reason), condition.Message(o.holds[0].Message)
	}
	conditions.Set(o.upgrade, admitted)
}

// dropHolds is for an attempt that has ended: it waits for nothing, and has no slot.
func (o *observation) dropHolds() {
	o.upgrade.Status.Holds = nil
	conditions.Delete(o.upgrade, infrav1.UpgradeAdmittedCondition)
}

// recordPause stores the hold of an attempt that Cluster API's pause stops. One that has ended is paused, too, and waits for nothing.
func (o *observation) recordPause() {
	if isEnded(o.upgrade.PhaseNow()) {
		return
	}
	o.await(0, o.pausedBy())
	o.recordHolds()
}

// pausedBy is the hold of an attempt that Cluster API's pause stops.
func (o *observation) pausedBy() *hold {
	if o.cluster != nil && ptr.Deref(o.cluster.Spec.Paused, false) {
		return infrav1.NewHold(infrav1.HoldClusterPaused, "Cluster/"+o.cluster.Name,
			"Cluster "+o.cluster.Name+" is paused: set its spec.paused to false")
	}
	return infrav1.NewHold(infrav1.HoldAttemptPaused, "ElementalHostUpgrade/"+o.upgrade.Name,
		"ElementalHostUpgrade "+o.upgrade.Name+" is paused: remove its annotation "+clusterv1.PausedAnnotation)
}
