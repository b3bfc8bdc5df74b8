// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package machinetemplate

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/annotations"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/attempts"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/direct"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/existing"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/osversion"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/owner"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/rollout"
)

// forgetRetry is how often the rollouts of a template that is gone are looked at: no event tells that the last attempt of one has ended.
const forgetRetry = time.Minute

// current rollout of the template's content to a Cluster; nil if there is none.
func (o *observation) current(cluster string) *infrav1.ElementalRollout {
	return rollout.Current(o.rollouts, cluster, osversion.OfTemplate(o.template))
}

// begin a rollout of the template's content to a Cluster, with the options in force now. All is read live: the name is random, so that nothing else would
// keep a second rollout from being made, and what the cache has of the template may be its content of before.
func (r *Reconciler) begin(ctx context.Context, seen *observation, cluster *clusterv1.Cluster) (*infrav1.ElementalRollout, error) {
	now, err := existing.Get(ctx, r.Live, &infrav1.ElementalMachineTemplate{}, seen.template.Namespace, seen.template.Name)
	if err != nil {
		return nil, err
	}
	if now == nil || !osversion.Same(osversion.OfTemplate(now), osversion.OfTemplate(seen.template)) {
		return nil, fmt.Errorf("ElementalMachineTemplate %s was changed while its rollout was about to be recorded", seen.template.Name)
	}
	live, err := rollout.OfTemplate(ctx, r.Live, seen.template.Namespace, seen.template.Name)
	if err != nil {
		return nil, err
	}
	seen.rollouts = live
	if found := seen.current(cluster.Name); found != nil {
		return found, nil
	}
	options, _, err := owner.ClusterOptions(ctx, r.Client, cluster.Namespace, cluster.Name)
	if err != nil {
		return nil, err
	}
	made := rollout.New(seen.template, cluster, options, live)
	if err := r.Client.Create(ctx, made); err != nil {
		return nil, fmt.Errorf("creating ElementalRollout %s: %w", made.Name, err)
	}
	ctrl.LoggerFrom(ctx).Info("Started a rollout", "ElementalRollout", made.Name, "Cluster", cluster.Name)
	seen.rollouts = append(seen.rollouts, *made)
	return made, nil
}

// beginRotations makes the rollouts to which Cluster API brings Machines: their options are those of the moment in which that begins.
func (r *Reconciler) beginRotations(ctx context.Context, seen *observation) error {
	if osversion.Image(osversion.OfTemplate(seen.template)) == "" {
		return nil // there is nothing that a host could be upgraded to
	}
	failed := []error{}
	for _, of := range seen.rotating {
		if seen.current(of.ClusterName()) != nil {
			continue
		}
		cluster, err := existing.Get(ctx, r.Client, &clusterv1.Cluster{}, seen.template.Namespace, of.ClusterName(), client.UnsafeDisableDeepCopy)
		if err == nil && cluster != nil && !annotations.IsPaused(cluster, of.Object()) {
			_, err = r.begin(ctx, seen, cluster)
		}
		failed = append(failed, client.IgnoreNotFound(err)) // an ElementalCluster may be created after its MachineDeployments
	}
	return errors.Join(failed...)
}

// settleRollouts completes the rollouts whose OS all Machines have, and deletes former ones that nothing needs any more.
func (r *Reconciler) settleRollouts(ctx context.Context, seen *observation) error {
	failed := []error{}
	for i := range seen.rollouts {
		failed = append(failed, r.settle(ctx, seen, &seen.rollouts[i]))
	}
	return errors.Join(failed...)
}

func (r *Reconciler) settle(ctx context.Context, seen *observation, of *infrav1.ElementalRollout) error {
	cluster, err := clusterOf(ctx, r.Client, of)
	if err != nil || cluster == nil {
		return err
	}
	before := of.DeepCopy()
	if owner.SetCluster(of, cluster) {
		return rollout.Patch(ctx, r.Client, before, of, "giving its Cluster back to")
	}
	if last := rollout.Last(seen.rollouts, of.Spec.ClusterName); last.UID != of.UID {
		return r.drop(ctx, of)
	}
	if !seen.isCompleted(of) {
		return nil
	}
	if isNeeded, err := r.hasUnfinished(ctx, of); err != nil || isNeeded {
		return err
	}
	of.Spec.Completed, of.Spec.HeldBy, of.Spec.StoppedBy = true, "", ""
	return rollout.Patch(ctx, r.Client, before, of, "completing")
}

// clusterOf a rollout; nil where nothing may be done about the rollout: the Cluster is paused, and moved perhaps, or is not there, and the rollout is deleted
// with it or has come before it.
func clusterOf(ctx context.Context, reader client.Reader, of *infrav1.ElementalRollout) (*clusterv1.Cluster, error) {
	cluster, err := existing.Get(ctx, reader, &clusterv1.Cluster{}, of.Namespace, of.Spec.ClusterName, client.UnsafeDisableDeepCopy)
	if err != nil || cluster == nil || annotations.IsPaused(cluster, of) {
		return nil, err
	}
	return cluster, nil
}

// isCompleted reports whether all Machines of the Cluster have the OS of its last rollout, and it is not recorded.
func (o *observation) isCompleted(of *infrav1.ElementalRollout) bool {
	current := o.current(of.Spec.ClusterName)
	if current == nil || slices.ContainsFunc(o.rotating, func(rotating owner.Owner) bool { return rotating.ClusterName() == of.Spec.ClusterName }) {
		return false
	}
	wanted := osversion.Hash(osversion.OfTemplate(o.template))
	return !slices.ContainsFunc(o.machines, func(machine direct.Machine) bool {
		isThere := owner.IsThere(machine.Elemental, o.template.Name, wanted) && !owner.IsUpdating(machine.Elemental)
		return machine.Machine.Spec.ClusterName == of.Spec.ClusterName && !isThere && !direct.IsNew(machine.Elemental)
	})
}

// hasUnfinished reports whether an attempt of a rollout has not ended.
func (r *Reconciler) hasUnfinished(ctx context.Context, of *infrav1.ElementalRollout) (bool, error) {
	unfinished, err := attempts.Unfinished(ctx, r.Client, client.ObjectKey{Namespace: of.Namespace, Name: of.Spec.ClusterName})
	return slices.ContainsFunc(unfinished, func(attempt infrav1.ElementalHostUpgrade) bool { return attempt.Spec.RolloutName == of.Name }), err
}

// drop a former rollout, unless an attempt of it has not ended. The Cluster is read live: a move that has just begun must find the rollout.
func (r *Reconciler) drop(ctx context.Context, of *infrav1.ElementalRollout) error {
	if isNeeded, err := r.hasUnfinished(ctx, of); err != nil || isNeeded {
		return err
	}
	if cluster, err := clusterOf(ctx, r.Live, of); err != nil || cluster == nil {
		return err
	}
	if err := r.Client.Delete(ctx, of, client.Preconditions{UID: ptr.To(of.UID)}); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("deleting the former ElementalRollout %s: %w", of.Name, err)
	}
	return nil
}

// forget deletes the rollouts of a template that is gone. A topology deletes one as soon as it has replaced it, while attempts go on: what is left is looked at
// again.
func (r *Reconciler) forget(ctx context.Context, template client.ObjectKey) (ctrl.Result, error) {
	rollouts, err := rollout.OfTemplate(ctx, r.Client, template.Namespace, template.Name)
	if err != nil {
		return ctrl.Result{}, err
	}
	result, failed := ctrl.Result{}, []error{}
	for i := range rollouts {
		of := &rollouts[i]
		if r.isOfAnotherManager(of) || !of.DeletionTimestamp.IsZero() {
			continue
		}
		result.RequeueAfter = forgetRetry
		failed = append(failed, r.drop(ctx, of))
	}
	return result, errors.Join(failed...)
}
