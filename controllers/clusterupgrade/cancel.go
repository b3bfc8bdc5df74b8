// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package clusterupgrade

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

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
	o.recordNodes()
	if working := o.inWork(); working != "" {
		r.report(o.upgrade, infrav1.ClusterUpgradeCancelling, "", "cancelled"+working)
		return ctrl.Result{RequeueAfter: retry}, nil
	}
	why, err := r.letGo(ctx, o)
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
	if o.isRevert() {
		message, err = reverted(o.upgrade)
	}
	if err != nil {
		return ctrl.Result{}, err
	}
	r.end(o.upgrade, infrav1.ClusterUpgradeCancelled, message)
	if !o.upgrade.DeletionTimestamp.IsZero() {
		controllerutil.RemoveFinalizer(o.upgrade, infrav1.ElementalClusterUpgradeFinalizer)
	}
	return ctrl.Result{}, nil
}

// isRevert reports whether what the upgrade has changed is put back.
func (o *observation) isRevert() bool {
	return o.upgrade.Spec.Cancel && o.upgrade.Spec.OnCancel == infrav1.CancelRevert && o.upgrade.DeletionTimestamp.IsZero()
}

// letGo holds the nodes that have not begun, or puts their templates back, gives KubeVirt its workload updates back, and says what it waits for. What is
// reverted is held, too: until the owners refer to the former OS again, attempts at this one would go on.
func (r *Reconciler) letGo(ctx context.Context, o *observation) (string, error) {
	held, err := r.hold(ctx, o)
	if err == nil && o.isRevert() {
		held, err = r.revert(ctx, o)
	}
	if err != nil {
		return "", err
	}
	unrestored, err := r.restoreWorkloads(ctx, o)
	return cmp.Or(held, unrestored), err
}

// reverted says what was put back. An upgrade to an OS that the templates had before has changed nothing, whoever changed it.
func reverted(upgrade *infrav1.ElementalClusterUpgrade) (string, error) {
	known, err := formerOf(upgrade)
	if err != nil || len(known) > 0 {
		return "the templates have their former OS again; nodes that were upgraded are now upgraded back: see their ElementalHostUpgrades", err
	}
	return fmt.Sprintf("nothing was put back: the upgrade has changed no template. Those that have %s were changed before it was created: change them by hand",
		clusterupgrade.Image(upgrade)), nil
}

// makeWay ends an upgrade when another one governs.
func (r *Reconciler) makeWay(ctx context.Context, o *observation, governing *infrav1.ElementalClusterUpgrade) (ctrl.Result, error) {
	if why, err := r.handOver(ctx, o, governing); err != nil || why != "" {
		r.report(o.upgrade, infrav1.ClusterUpgradeCancelling, "", "ElementalClusterUpgrade "+governing.Name+" takes its place; "+why)
		return ctrl.Result{RequeueAfter: retry}, err
	}
	r.end(o.upgrade, infrav1.ClusterUpgradeSuperseded, "ElementalClusterUpgrade "+governing.Name+" was created after it")
	return ctrl.Result{}, nil
}

// handOver holds what the upgrade has begun to roll out, and gives KubeVirt its workload updates back, unless the other one takes that.
func (r *Reconciler) handOver(ctx context.Context, o *observation, to *infrav1.ElementalClusterUpgrade) (string, error) {
	if to.Spec.KubeVirt == nil || !controllerutil.ContainsFinalizer(to, infrav1.ElementalClusterUpgradeFinalizer) { // or it would not put it back
		if why, err := r.restoreWorkloads(ctx, o); err != nil || why != "" {
			return why, err
		}
	}
	if osversion.SameImage(clusterupgrade.Image(to), clusterupgrade.Image(o.upgrade)) {
		return "", nil
	}
	return r.hold(ctx, o)
}

// hold marks what is being rolled out to nodes that have not been begun, and says what keeps it from that: a template that was changed and is
// not rolled out yet has no rollout that could be marked. Templates are read live: the cache may not have the change of a moment ago.
func (r *Reconciler) hold(ctx context.Context, o *observation) (string, error) {
	for _, template := range o.templates() {
		if why, err := r.holdTemplate(ctx, o, template); err != nil || why != "" {
			return why, err
		}
	}
	return "", nil
}

func (r *Reconciler) holdTemplate(ctx context.Context, o *observation, stale *infrav1.ElementalMachineTemplate) (string, error) {
	template, err := existing.Get(ctx, r.APIReader, &infrav1.ElementalMachineTemplate{}, stale.Namespace, stale.Name)
	if err != nil {
		return "", err
	}
	if template == nil {
		if clusterupgrade.IsOfTopology(stale) {
			return "waiting for what has replaced ElementalMachineTemplate " + stale.Name, nil
		}
		return "", nil
	}
	desired, has := o.desired(template)
	switch {
	case !has:
		return r.awaitTopology(ctx, o, template)
	case o.isRolledOut(template):
		return "", nil
	}
	rollouts, err := r.rolloutsTo(ctx, o, template, desired)
	if err != nil {
		return "", err
	}
	if len(rollouts) == 0 {
		return fmt.Sprintf("waiting until ElementalMachineTemplate %s is rolled out, to hold its nodes: see its conditions, or put its former image back",
			template.Name), nil
	}
	return "", r.mark(ctx, rollouts, o.upgrade.Name)
}

// isRolledOut reports whether all nodes of a template are done.
func (o *observation) isRolledOut(template *infrav1.ElementalMachineTemplate) bool {
	return !slices.ContainsFunc(o.plan.Members(), func(m clusterupgrade.Member) bool {
		return m.Template != nil && m.Template.Name == template.Name && m.State != clusterupgrade.Done
	})
}

// rolloutsTo the Cluster of a template that bring it an OS: the last one, and former ones whose attempts go on. They are read live: the cache may not have
// that of a moment ago.
func (r *Reconciler) rolloutsTo(
	ctx context.Context, o *observation, template *infrav1.ElementalMachineTemplate, desired infrav1.OSVersionManagement,
) ([]infrav1.ElementalRollout, error) {
	all, err := rollout.OfTemplate(ctx, r.APIReader, template.Namespace, template.Name)
	return slices.DeleteFunc(all, func(of infrav1.ElementalRollout) bool {
		return of.Spec.ClusterName != o.cluster.Name || !osversion.Same(of.Spec.OSVersionManagement, desired)
	}), err
}

// release what a cancelled upgrade to the same OS holds.
func (r *Reconciler) release(ctx context.Context, o *observation) error {
	for _, template := range o.templates() {
		desired, _ := o.desired(template)
		rollouts, err := r.rolloutsTo(ctx, o, template, desired)
		if err != nil {
			return err
		}
		if err := r.mark(ctx, rollouts, ""); err != nil {
			return err
		}
	}
	return nil
}

// mark rollouts as held by an upgrade; empty: by none. What is completed has no node to be held.
func (r *Reconciler) mark(ctx context.Context, rollouts []infrav1.ElementalRollout, by string) error {
	for i := range rollouts {
		of := &rollouts[i]
		if of.Spec.HeldBy == by || of.Spec.Completed && by != "" {
			continue
		}
		changed := of.DeepCopy()
		changed.Spec.HeldBy = by
		if err := r.Client.Patch(ctx, changed, client.MergeFrom(of)); client.IgnoreNotFound(err) != nil {
			return fmt.Errorf("holding ElementalRollout %s: %w", of.Name, err)
		}
	}
	return nil
}

// revert puts back what the upgrade has replaced. A template that somebody has changed since stays as it is.
func (r *Reconciler) revert(ctx context.Context, o *observation) (string, error) {
	known, err := formerOf(o.upgrade)
	if err != nil {
		return "", err
	}
	for _, name := range slices.Sorted(maps.Keys(known)) {
		revert, of := r.revertTemplate, name
		if pool, is := strings.CutPrefix(name, poolKey("")); is {
			revert, of = r.revertVariable, pool
		}
		if why, err := revert(ctx, o, of, known[name]); err != nil || why != "" {
			return why, err
		}
	}
	return "", nil
}

func (r *Reconciler) revertTemplate(ctx context.Context, o *observation, name string, recorded former) (string, error) {
	template, err := existing.Get(ctx, r.APIReader, &infrav1.ElementalMachineTemplate{}, o.upgrade.Namespace, name)
	if err != nil || template == nil {
		return "", err
	}
	if _, has := o.desired(template); !has {
		return "", nil
	}
	return r.patchTemplate(ctx, template, recorded.OS)
}
