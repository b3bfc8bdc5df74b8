// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package hostupgrade

import (
	"context"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/sequence"
)

// reconcileDelete undoes what the attempt has marked and lets it go. What the host has begun is brought
// to its end first; after the reboot there is nothing left to take back.
func (r *Reconciler) reconcileDelete(ctx context.Context, o *observation) (ctrl.Result, error) {
	if o.mustFinish() && !o.machineLeaves() && !isEnded(o.upgrade.Status.Phase) && !o.isGivenUp() {
		result, err := r.reconcileNormal(ctx, o)
		if err != nil || !isEnded(o.upgrade.Status.Phase) {
			return result, err
		}
	}
	report, err := sequence.Run(ctx, r.ending(infrav1.UpgradeAborted), 0, o)
	if err != nil {
		o.keepHolds(sequence.Report{})
		return ctrl.Result{}, err
	}
	if !report.Completed() {
		if report.Result.Message == "" {
			o.recordHolds(nil)
		} else {
			r.recordWait(o, sequence.Report{Result: report.Result}, report.Result.Message+" (being deleted)")
		}
		return ctrl.Result{RequeueAfter: report.Result.After}, nil
	}
	// What the host began has ended by now; the steps above leave the attempt on it as evidence.
	if err := r.withdraw(ctx, o); err != nil {
		return ctrl.Result{}, err
	}
	controllerutil.RemoveFinalizer(o.upgrade, infrav1.ElementalHostUpgradeFinalizer)
	return ctrl.Result{}, nil
}
