// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package hostupgrade

import (
	"context"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/cluster-api/util/annotations"
	"sigs.k8s.io/cluster-api/util/conditions"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/hoststate"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/workload"
)

// What is here makes up for what "clusterctl move" does to an attempt: its status is lost, as are that of the host and the
// slots of the cluster. Its id is not: see attemptOf.

// recordHistory stores the end of the attempt where a move does not lose it.
func (o *observation) recordHistory() {
	end := string(o.upgrade.Status.Phase)
	if conditions.IsFalse(o.upgrade, infrav1.FormerOSHealthyCondition) {
		end += "/" + infrav1.FormerOSNotGoodReason
	}
	annotations.AddAnnotations(o.upgrade, map[string]string{infrav1.EndedAnnotation: end})
}

// restoreHistory gives an attempt that ended on another management cluster its end back. It reports whether that is it.
func (o *observation) restoreHistory() bool {
	_, reason, _ := strings.Cut(o.upgrade.Annotations[infrav1.EndedAnnotation], "/")
	status, end := &o.upgrade.Status, o.upgrade.PhaseNow()
	if status.Phase != "" || !isEnded(end) {
		return false
	}
	status.Attempt, status.Phase, status.Message = o.attempt, end, "ended before it was moved to this management cluster"
	succeeded := metav1.ConditionFalse
	if end == infrav1.UpgradeSucceeded {
		succeeded = metav1.ConditionTrue
	}
	for kind, is := range map[string]metav1.ConditionStatus{
		infrav1.UpgradeSucceededCondition: succeeded, infrav1.UpgradeProgressingCondition: metav1.ConditionFalse,
	} {
		conditions.Set(o.upgrade, metav1.Condition{Type: kind, Status: is, Reason: string(end), Message: status.Message})
	}
	if reason == infrav1.FormerOSNotGoodReason {
		conditions.Set(o.upgrade, metav1.Condition{
			Type: infrav1.FormerOSHealthyCondition, Status: metav1.ConditionFalse, Reason: reason, Message: status.Message,
		})
	}
	return true
}

// stepArrive is not one of the steps. It counts the time that an attempt waits for its host before it goes on with them.
const stepArrive = "Arrive"

// arrive is what an attempt does first on a management cluster, which may not be the first one: it waits for the host, whose
// report tells how far they are, and takes the slot that it held. It reports whether to wait.
func (r *Reconciler) arrive(ctx context.Context, o *observation) (waits bool, err error) {
	status := &o.upgrade.Status
	switch {
	case status.StartTime != nil, o.host == nil, o.machineLeaves():
		return false, nil
	case !hoststate.Reported(o.host):
		if o.upgrade.Spec.Cancel {
			return false, nil // which ends it, as its deletion does
		}
		r.awaitReport(o)
		return true, nil
	case o.workload == nil && !o.triggered(): // whether its node is cordoned is not known
		r.recordHold(o, o.awaitCluster())
		return true, nil
	}
	forget(status, stepArrive)
	return false, r.resumeSlot(ctx, o)
}

// awaitReport waits for a host that has not been heard of. One that is not heard of for as long as a reboot may take is left
// to the health checks of its Machine.
func (r *Reconciler) awaitReport(o *observation) {
	enter(&o.upgrade.Status, stepArrive, o.now)
	late := o.overdue(stepArrive, o.options.Timeouts.Reboot())
	r.recordHold(o, await(pollHost, o.hostSilent(late)))
	if late != "" {
		o.leaveToHealthChecks()
	}
}

// resumeSlot takes a slot without asking for a free one where the node is disrupted already, and holds the next move while
// the host is asked for the upgrade.
func (r *Reconciler) resumeSlot(ctx context.Context, o *observation) error {
	if o.rival != nil || o.elementalCluster == nil || o.upgrade.Spec.Release || o.admitted() {
		return nil
	}
	if disrupted, err := o.hasDisrupted(ctx); err != nil || !disrupted {
		return err
	}
	if o.asked() { // or nothing would let the move go again
		if err := r.blockMove(ctx, o); err != nil {
			return err
		}
	}
	return r.writeSlots(ctx, o, append(slices.Clone(o.elementalCluster.Status.UpgradeSlots), o.slot()))
}

// hasDisrupted reports whether the attempt has told its host to go, or has cordoned its node. That is looked for among all
// nodes, since a move loses the Machine's reference to its own, too.
func (o *observation) hasDisrupted(ctx context.Context) (bool, error) {
	switch {
	case o.triggered():
		return true, nil
	case o.node != nil:
		return workload.CordonedBy(o.node) == o.attempt, nil
	case o.workload == nil:
		return false, nil
	}
	nodes, err := o.workload.Nodes(ctx)
	if err != nil {
		return false, fmt.Errorf("looking for the node that ElementalHostUpgrade %s has cordoned: %w", o.upgrade.Name, err)
	}
	return slices.ContainsFunc(nodes, func(node corev1.Node) bool { return workload.CordonedBy(&node) == o.attempt }), nil
}

// arriving are the names of the attempts that have cordoned their nodes and hold no slot yet: they have been moved here, and
// have not been looked at.
func (o *observation) arriving(ctx context.Context, attempts []infrav1.ElementalHostUpgrade, taken []infrav1.UpgradeSlot) ([]string, error) {
	moved := map[string]string{}
	for i := range attempts {
		other := &attempts[i]
		if other.UID != o.upgrade.UID && hasNotArrived(other) && !holdsSlot(taken, attemptOf(other)) {
			moved[attemptOf(other)] = other.Name
		}
	}
	if len(moved) == 0 || o.workload == nil {
		return nil, nil
	}
	nodes, err := o.workload.Nodes(ctx)
	if err != nil {
		return nil, fmt.Errorf("looking for nodes that are cordoned by attempts of Cluster %s: %w", o.upgrade.Spec.ClusterName, err)
	}
	names := []string{}
	for i := range nodes {
		if name := moved[workload.CordonedBy(&nodes[i])]; name != "" {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names, nil
}

// hasNotArrived reports whether an attempt may have disrupted a node on another management cluster: it was moved here, where it has
// not been looked at. Before its id was stored it left no mark. One that was released counts no more.
func hasNotArrived(upgrade *infrav1.ElementalHostUpgrade) bool {
	return wasMoved(upgrade) && upgrade.Status.StartTime == nil && !upgrade.Spec.Release && !isEnded(upgrade.PhaseNow())
}
