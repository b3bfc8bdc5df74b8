// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package machine

import (
	"context"
	"fmt"
	"time"

	"k8s.io/klog/v2"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	runtimev1 "sigs.k8s.io/cluster-api/api/runtime/v1beta2"
	"sigs.k8s.io/cluster-api/util/annotations"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
)

// lostMarkPatience is how long the marks of a Machine have to contradict one another before they count as
// lost: Cluster API writes them one after the other.
const lostMarkPatience = 5 * time.Second

// restoreUpdateMark gives a Machine the mark of an update back that Cluster API has lost.
//
// When an update in place completes, the Machine controller of Cluster API 1.14.2 takes the mark
// update-in-progress off twice: at once, and again with the patch at the end of the same reconcile, which
// carries no resourceVersion. If the owner wants another template by then, which is how a bad image is
// got over, the MachineSet controller has often set the mark for the next update in between. The second
// patch takes that one off, the update never begins, and the owner waits for it for ever.
func (r *Reconciler) restoreUpdateMark(ctx context.Context, s *scope) (ctrl.Result, error) {
	if s.owner == nil || !lacksUpdateMark(s.owner, s.machine) {
		return ctrl.Result{}, nil
	}
	// The cache lags behind, and keeps no record of who wrote what when.
	owner, machine := &clusterv1.Machine{}, &infrav1.ElementalMachine{}
	if err := r.APIReader.Get(ctx, client.ObjectKeyFromObject(s.owner), owner); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if err := r.APIReader.Get(ctx, client.ObjectKeyFromObject(s.machine), machine); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if !owner.DeletionTimestamp.IsZero() || !lacksUpdateMark(owner, machine) {
		return ctrl.Result{}, nil
	}
	if left := lostMarkPatience - r.Clock.Since(lastWritten(owner, machine)); left > 0 {
		return ctrl.Result{RequeueAfter: left}, nil
	}
	ctrl.LoggerFrom(ctx).Info("Restoring the mark of an update in place that Cluster API has lost", "Machine", klog.KObj(owner))
	before := owner.DeepCopy()
	annotations.AddAnnotations(owner, map[string]string{clusterv1.UpdateInProgressAnnotation: ""})
	patch := client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})
	if err := r.Client.Patch(ctx, owner, patch); err != nil {
		return ctrl.Result{}, fmt.Errorf("restoring the update mark of Machine %s: %w", owner.Name, err)
	}
	return ctrl.Result{}, nil
}

// lacksUpdateMark says whether a Machine is not marked as being updated although it was just moved to
// another MachineSet, or its ElementalMachine is marked and no hook is pending that would clean that up.
func lacksUpdateMark(owner *clusterv1.Machine, machine *infrav1.ElementalMachine) bool {
	marks := owner.Annotations
	if has(marks, clusterv1.UpdateInProgressAnnotation) || has(marks, runtimev1.PendingHooksAnnotation) {
		return false
	}
	return has(marks, clusterv1.PendingAcknowledgeMoveAnnotation) || has(machine.Annotations, clusterv1.UpdateInProgressAnnotation)
}

func has(marks map[string]string, key string) bool {
	_, found := marks[key]
	return found
}

// lastWritten is when one of the objects was last written by anybody. Status does not count: it is
// written all the time.
func lastWritten(objects ...client.Object) time.Time {
	last := time.Time{}
	for _, object := range objects {
		for _, entry := range object.GetManagedFields() {
			if entry.Subresource == "" && entry.Time != nil && entry.Time.After(last) {
				last = entry.Time.Time
			}
		}
	}
	return last
}
