// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package clusterupgrade

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/clusterupgrade"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/sequence"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/workload"
)

// kubeVirtRetry is how often KubeVirt is looked at while it is in work. The manager watches nothing of it.
const kubeVirtRetry = 5 * gateRetry / 2

// labelled is how long after its roll-out virt-controller may take to label the virtual machines whose launchers are not current.
const labelled = time.Minute

// KubeVirt is the upgrade of the KubeVirt of a workload cluster to a version. Nothing of it is kept outside of the workload cluster.
type KubeVirt interface {
	// Impossible says why it cannot be upgraded, whatever is waited for; empty if it can.
	Impossible(ctx context.Context) (string, error)
	// Advance brings it one step further, and says what it waits for; empty once it is done. Before the workload updates are held, and before the
	// version is set, mayBegin is asked, which says why that may not be.
	Advance(ctx context.Context, mayBegin func() (string, error)) (string, error)
	// Restore puts back the workload updates that Advance has held, and says why it cannot.
	Restore(ctx context.Context) (string, error)
	// Outdated says which virtual machines are yet to be brought to the version, and which stay at a former one. Both are empty if there are none.
	Outdated(ctx context.Context) (waits, stay string, err error)
}

// upgradeKubeVirt before any node: its components are rolled out while all nodes are up.
func (r *Reconciler) upgradeKubeVirt(ctx context.Context, o *observation) (sequence.Result, error) {
	if o.plan.HasCompleted(clusterupgrade.StageKubeVirt) {
		return sequence.Done(), nil
	}
	if len(o.plan.Failed()) > 0 {
		return sequence.Wait(retry, "%s", o.plan.Message(o.now)), nil
	}
	why, err := r.withKubeVirt(ctx, o, func(upgrade KubeVirt) (string, error) {
		return upgrade.Advance(ctx, func() (string, error) { return r.notBegun(ctx, o) })
	})
	if err != nil || why != "" {
		return sequence.Wait(kubeVirtRetry, "%s", why), err
	}
	return sequence.Done(), nil
}

// kubeVirtImpossible says why KubeVirt cannot be upgraded, before any host fetches an image.
func (r *Reconciler) kubeVirtImpossible(ctx context.Context, o *observation) (string, error) {
	if o.upgrade.Spec.KubeVirt == nil {
		return "", nil
	}
	return r.withKubeVirt(ctx, o, func(upgrade KubeVirt) (string, error) { return upgrade.Impossible(ctx) })
}

// notBegun says why nothing of the workload cluster may be disrupted now. A node in work stops the roll-out of KubeVirt, and its evacuation fails with it.
func (r *Reconciler) notBegun(ctx context.Context, o *observation) (string, error) {
	if o.upgrade.Spec.Paused {
		return pausedText, nil
	}
	if taken := o.elemental.Status.UpgradeSlots; len(taken) > 0 {
		return fmt.Sprintf("waiting for ElementalHostUpgrade %s to end: KubeVirt is not changed while nodes are in work", taken[0].Upgrade), nil
	}
	if outside := o.plan.Outside(o.now); outside != "" {
		return outside, nil
	}
	return r.closedGate(ctx, o)
}

// updateWorkloads has KubeVirt bring virtual machines to current launchers, and waits for those that it does.
func (r *Reconciler) updateWorkloads(ctx context.Context, o *observation) (sequence.Result, error) {
	if o.plan.HasCompleted(clusterupgrade.StageWorkloads) {
		return sequence.Done(), nil
	}
	if len(o.plan.Failed()) > 0 {
		return sequence.Wait(retry, "%s", o.plan.Message(o.now)), nil
	}
	if why, err := r.notYetUpdated(ctx, o); err != nil || why != "" {
		return sequence.Wait(kubeVirtRetry, "%s", why), err
	}
	why, err := r.withKubeVirt(ctx, o, func(upgrade KubeVirt) (string, error) {
		if why, err := upgrade.Restore(ctx); err != nil || why != "" {
			return why, err
		}
		waits, stay, err := upgrade.Outdated(ctx)
		o.outdated = stay
		return waits, err
	})
	if err != nil || why != "" {
		return sequence.Wait(kubeVirtRetry, "%s", why), err
	}
	return sequence.Done(), nil
}

// notYetUpdated says why no virtual machine is updated now: before the nodes as nothing may be disrupted, and after the roll-out of KubeVirt as it is not
// known yet which of them are outdated.
func (r *Reconciler) notYetUpdated(ctx context.Context, o *observation) (string, error) {
	if slices.Contains(o.plan.Before(), clusterupgrade.StageWorkloads) {
		if why, err := r.notBegun(ctx, o); err != nil || why != "" {
			return why, err
		}
	}
	rolledOut := o.plan.Recorded(clusterupgrade.StageKubeVirt)
	if rolledOut == nil || rolledOut.CompletionTime == nil || o.now.Before(rolledOut.CompletionTime.Add(labelled)) {
		return "virt-controller looks which virtual machines have launchers of a former version", nil
	}
	return "", nil
}

// restoreWorkloads puts back the workload updates that the upgrade holds, and says why it cannot: nothing of KubeVirt may stay changed when an
// upgrade ends.
func (r *Reconciler) restoreWorkloads(ctx context.Context, o *observation) (string, error) {
	if o.upgrade.Spec.KubeVirt == nil {
		return "", nil
	}
	why, err := r.withKubeVirt(ctx, o, func(upgrade KubeVirt) (string, error) { return upgrade.Restore(ctx) })
	if why != "" {
		why = fmt.Sprintf("workload updates of KubeVirt that are held, by annotation %s, cannot be given back: %s", infrav1.HeldWorkloadsAnnotation, why)
	}
	return why, err
}

// withKubeVirt does something with KubeVirt, and says why that cannot be done now.
func (r *Reconciler) withKubeVirt(ctx context.Context, o *observation, do func(KubeVirt) (string, error)) (string, error) {
	name := o.upgrade.Spec.ClusterName
	cluster, err := r.Workload.Connect(ctx, client.ObjectKey{Namespace: o.upgrade.Namespace, Name: name})
	if errors.Is(err, workload.ErrUnreachable) {
		return workload.Unreached(name, err), nil
	}
	if err != nil {
		return "", err
	}
	why, err := do(r.KubeVirt(cluster.Live(), o.upgrade.Spec.KubeVirt.Version))
	switch {
	case apierrors.IsConflict(err):
		return "KubeVirt is being changed by others", nil
	case workload.IsFailure(err):
		ctrl.LoggerFrom(ctx).Error(err, "Failed to upgrade KubeVirt")
		return workload.Unreached(name, err), nil
	}
	return why, err
}
