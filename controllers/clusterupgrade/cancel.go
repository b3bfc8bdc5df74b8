// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package clusterupgrade

import (
	"context"
	"fmt"

	"sigs.k8s.io/cluster-api/util/annotations"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/clusterupgrade"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/existing"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/osversion"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/rollout"
)

// cancel ends an upgrade: the nodes in work are finished, and the others held, or their templates put back. Deleting it holds them.
func (r *Reconciler) cancel(ctx context.Context, o *observation) (ctrl.Result, error) {
	if working := o.inWork(); working != "" {
		r.report(o.upgrade, infrav1.ClusterUpgradeCancelling, "", "cancelled"+working)
		return ctrl.Result{RequeueAfter: retry}, nil
	}
	undo, isRevert := r.hold, o.upgrade.Spec.OnCancel == infrav1.CancelRevert && o.upgrade.DeletionTimestamp.IsZero()
	if isRevert {
		undo = r.revert
	}
	why, err := undo(ctx, o)
	if err != nil {
		return ctrl.Result{}, err
	}
	if why != "" {
		r.report(o.upgrade, infrav1.ClusterUpgradeCancelling, "", "cancelled; "+why)
		return ctrl.Result{RequeueAfter: retry}, nil
	}
	nodes, done := o.plan.Targets()
	message := fmt.Sprintf("%d of %d nodes run %s; the others are held until their templates are changed, or another ElementalClusterUpgrade is created",
		done, nodes, clusterupgrade.Image(o.upgrade))
	if isRevert {
		message = "the templates have their former OS again"
	}
	r.end(o.upgrade, infrav1.ClusterUpgradeCancelled, message)
	if !o.upgrade.DeletionTimestamp.IsZero() {
		controllerutil.RemoveFinalizer(o.upgrade, infrav1.ElementalClusterUpgradeFinalizer)
	}
	return ctrl.Result{}, nil
}

// hold marks the clones that are being rolled out to nodes that have not been begun, and says what keeps it from that. A template that was
// changed and is not rolled out yet has no clone that could be marked.
func (r *Reconciler) hold(ctx context.Context, o *observation) (string, error) {
	for _, member := range o.plan.Members() {
		if member.State == clusterupgrade.Done || member.Source == nil {
			continue
		}
		_, has, err := o.desired(member.Source)
		if err != nil {
			return "", err
		}
		if !has {
			continue // it is not asked for this OS
		}
		clone, err := existing.Get(ctx, r.APIReader, &infrav1.ElementalMachineTemplate{}, o.upgrade.Namespace, member.Wanted)
		if err != nil {
			return "", err
		}
		if clone == nil || !rollout.IsClone(clone) || !osversion.SameImage(imageOf(clone), clusterupgrade.Image(o.upgrade)) {
			return fmt.Sprintf("waiting until ElementalMachineTemplate %s has been rolled out, to hold node %s: see its conditions, or put its former image back",
				member.Source.Name, member.Node()), nil
		}
		if err := r.mark(ctx, clone, o.upgrade.Name); err != nil {
			return "", err
		}
	}
	return "", nil
}

func imageOf(template *infrav1.ElementalMachineTemplate) string {
	image, _ := osversion.Image(osversion.OfTemplate(template))
	return image
}

// release what a cancelled upgrade to the same OS holds.
func (r *Reconciler) release(ctx context.Context, o *observation) error {
	seen := map[string]bool{}
	for _, member := range o.plan.Members() {
		if member.Wanted == "" || seen[member.Wanted] {
			continue
		}
		seen[member.Wanted] = true
		clone, err := existing.Get(ctx, r.Client, &infrav1.ElementalMachineTemplate{}, o.upgrade.Namespace, member.Wanted)
		if err != nil {
			return err
		}
		if clone == nil || clone.Annotations[infrav1.HeldByAnnotation] == "" {
			continue
		}
		if err := r.mark(ctx, clone, ""); err != nil {
			return err
		}
	}
	return nil
}

// mark a clone as held by an upgrade; empty: by none.
func (r *Reconciler) mark(ctx context.Context, clone *infrav1.ElementalMachineTemplate, by string) error {
	if clone.Annotations[infrav1.HeldByAnnotation] == by {
		return nil
	}
	changed := clone.DeepCopy()
	if by == "" {
		delete(changed.Annotations, infrav1.HeldByAnnotation)
	} else {
		annotations.AddAnnotations(changed, map[string]string{infrav1.HeldByAnnotation: by})
	}
	if err := r.Client.Patch(ctx, changed, client.MergeFrom(clone)); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("holding what is rolled out from ElementalMachineTemplate %s: %w", clone.Name, err)
	}
	return nil
}

// revert puts back what the upgrade has replaced. A template that somebody has changed since stays as it is.
func (r *Reconciler) revert(ctx context.Context, o *observation) (string, error) {
	known, err := formerOf(o.upgrade)
	if err != nil {
		return "", err
	}
	for name, recorded := range known {
		template, err := existing.Get(ctx, r.APIReader, &infrav1.ElementalMachineTemplate{}, o.upgrade.Namespace, name)
		if err != nil {
			return "", err
		}
		if template == nil {
			continue
		}
		if _, has, err := o.desired(template); err != nil || !has {
			if err != nil {
				return "", err
			}
			continue
		}
		if why, err := r.patchTemplate(ctx, template, recorded.OS); err != nil || why != "" {
			return why, err
		}
	}
	return "", nil
}
