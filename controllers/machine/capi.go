// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package machine

import (
	"context"
	"fmt"

	"sigs.k8s.io/cluster-api/util"
	"sigs.k8s.io/cluster-api/util/annotations"
	"sigs.k8s.io/cluster-api/util/conditions"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/capiworkaround"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/osversion"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/owner"
)

// nameHost on the Machine.
func (r *Reconciler) nameHost(ctx context.Context, s *scope) error {
	if s.owner == nil {
		return nil
	}
	return capiworkaround.NameHost(ctx, r.Client, s.owner, s.host.Name)
}

// continueUpdate sees to it that Cluster API goes on with an update in place until it has come to its end.
func (r *Reconciler) continueUpdate(ctx context.Context, s *scope) (ctrl.Result, error) {
	template, err := r.clonedFrom(ctx, s.machine)
	if err != nil {
		return ctrl.Result{}, err
	}
	if !isBeingRolledOut(s.machine, template) { // which records it with its end, see package direct
		capiworkaround.RecordReached(s.machine, s.host)
	}
	restored, err := r.restoreUpdateMark(ctx, s, template)
	retried := ctrl.Result{RequeueAfter: capiworkaround.RetryHook(s.owner, s.machine, r.Clock.Now())}
	return util.LowestNonZeroResult(restored, retried), err
}

// isBeingRolledOut reports whether a rollout of its template, which is not paused, brings the machine to the OS that it specifies.
func isBeingRolledOut(machine *infrav1.ElementalMachine, template *infrav1.ElementalMachineTemplate) bool {
	return owner.NotedRollout(machine) != "" && template != nil && owner.NotedTemplate(machine) == template.Name && !annotations.HasPaused(template) &&
		osversion.Same(templateOS(template), machine.Spec.OSVersionManagement)
}

func (r *Reconciler) restoreUpdateMark(ctx context.Context, s *scope, template *infrav1.ElementalMachineTemplate) (ctrl.Result, error) {
	if s.owner == nil {
		return ctrl.Result{}, nil
	}
	marks := capiworkaround.UpdateMarks{Client: r.Client, Live: r.APIReader, Clock: r.Clock}
	restored, after, err := marks.Restore(ctx, capiworkaround.Update{Owner: s.owner, Machine: s.machine, Host: s.host, Template: template})
	if err != nil || !restored {
		return ctrl.Result{RequeueAfter: after}, err
	}
	stored := &infrav1.ElementalMachine{}
	if err := r.APIReader.Get(ctx, client.ObjectKeyFromObject(s.machine), stored); err != nil {
		return ctrl.Result{}, fmt.Errorf("reading what was said of lost marks: %w", err)
	}
	s.markRestored, s.mark = true, conditions.Get(stored, infrav1.UpdateMarkRestoredCondition)
	return ctrl.Result{RequeueAfter: after}, nil
}
