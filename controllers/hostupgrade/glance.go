// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package hostupgrade

import (
	"context"
	"errors"

	"k8s.io/apimachinery/pkg/api/equality"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/annotations"
	"sigs.k8s.io/cluster-api/util/conditions"
	ctrl "sigs.k8s.io/controller-runtime"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
)

// In a large rollout most attempts wait at Admit for others, whose events wake them. Such an attempt is looked at in the manager's cache first. If that would
// neither write anything nor change what is reported, nothing is read live. Everything else is decided again by a reconcile that reads live: a glance starts
// and ends nothing.

// errActs is the error of a glance that comes to something which needs a live read or a write.
var errActs = errors.New("needs a live read")

// mayAct returns an error in a glance.
func (o *observation) mayAct() error {
	if o.glances {
		return errActs
	}
	return nil
}

// stillWaits reports whether an attempt waits for others as it did, as far as the cache knows, and after how long to look again.
func (r *Reconciler) stillWaits(ctx context.Context, cached *infrav1.ElementalHostUpgrade) (result ctrl.Result, waits bool) {
	if !isQueued(cached) || !cached.DeletionTimestamp.IsZero() || conditions.IsTrue(cached, clusterv1.PausedCondition) {
		return ctrl.Result{}, false
	}
	upgrade := cached.DeepCopy()
	if ensureMarks(upgrade) {
		return ctrl.Result{}, false
	}
	o, err := r.observeFrom(ctx, upgrade, r.Client, true)
	if err != nil || o.cluster == nil || annotations.IsPaused(o.cluster, upgrade) || !o.isBeforeCordon() {
		return ctrl.Result{}, false
	}
	result, err = r.advance(ctx, o)
	o.recordProgress()
	return result, err == nil && equality.Semantic.DeepEqual(cached, upgrade)
}

// isBeforeCordon reports whether none of the steps after Admit is run for the attempt.
func (o *observation) isBeforeCordon() bool {
	return !o.triggered() && !o.admitted() && !o.wentUnheard() && !o.hasNothingToDo()
}
