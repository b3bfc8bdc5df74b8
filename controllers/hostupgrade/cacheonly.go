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
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/moved"
)

// In a large rollout most attempts wait at Admit for others, whose events wake them. Such an attempt is reconciled from the cache first. That pass writes
// nothing. A reconcile that reads live follows, if the pass would write or read live, or would change what is reported.

// errRequiresLive ends a pass from the cache where a live read or a write is due.
var errRequiresLive = errors.New("requires a live read")

// requiresLive returns an error in a pass from the cache.
func (o *observation) requiresLive() error {
	if o.cacheOnly {
		return errRequiresLive
	}
	return nil
}

// stillWaits reports whether an attempt waits for others as it did, as far as the cache knows, and after how long to look again.
func (r *Reconciler) stillWaits(ctx context.Context, cached *infrav1.ElementalHostUpgrade) (result ctrl.Result, waits bool) {
	if !isQueued(cached) || moved.Away(cached) || !cached.DeletionTimestamp.IsZero() || conditions.IsTrue(cached, clusterv1.PausedCondition) {
		return ctrl.Result{}, false
	}
	upgrade := cached.DeepCopy()
	if ensureMarks(upgrade) {
		return ctrl.Result{}, false
	}
	o, err := r.observeFrom(ctx, upgrade, r.Client, true)
	if err != nil || o.cluster == nil || annotations.IsPaused(o.cluster, upgrade) || !r.isBeforeCordon(o) {
		return ctrl.Result{}, false
	}
	result, err = r.advance(ctx, o)
	o.recordProgress()
	return result, err == nil && equality.Semantic.DeepEqual(cached, upgrade)
}

// isBeforeCordon reports whether the steps start with the first, and end at Admit at the latest.
func (r *Reconciler) isBeforeCordon(o *observation) bool {
	return !o.admitted() && firstStep(r.steps(o.upgrade.Spec.Driver), o) == 0
}
