// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package machine

import (
	"context"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/attempts"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/condition"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/hoststate"
)

// reconcileDelete releases the machine's host. The machine goes as soon as the host is asked to reset
// itself; that it does so is the host's affair, and a dead one does not hold the Machine.
func (r *Reconciler) reconcileDelete(ctx context.Context, s *scope) (ctrl.Result, error) {
	hosts, err := r.claimer().Claimed(ctx, s.machine)
	if err != nil {
		return ctrl.Result{}, err
	}
	for _, host := range hosts {
		wait, err := r.waitForIdle(ctx, s, host)
		if err != nil {
			return ctrl.Result{}, err
		}
		if wait > 0 {
			condition.TrueBecause(s.machine, infrav1.DeletingCondition, infrav1.WaitingForHostIdleReason,
				"ElementalHost %s is in the middle of an OS upgrade; it is reset when that has ended", host.Name)
			return ctrl.Result{RequeueAfter: wait}, nil
		}
		ctrl.LoggerFrom(ctx).Info("Releasing host", "ElementalHost", klog.KObj(host))
		if err := r.claimer().Release(ctx, host); err != nil {
			return ctrl.Result{}, err
		}
		r.record(hostReleased(s.machine, host))
	}
	if s.owner != nil && protector(s.owner) != "" { // which nothing else would remove from a Machine that stays
		if err := r.unmark(ctx, s.owner, protector(s.owner)); err != nil {
			return ctrl.Result{}, err
		}
	}
	controllerutil.RemoveFinalizer(s.machine, infrav1.ElementalMachineFinalizer)
	return ctrl.Result{}, nil
}

// waitForIdle is how much longer the release waits for the host's agent. A host that has not come back
// within the time-out of a reboot is lost, and is released all the same: it resets itself should it ever
// return. One that its attempt waited for in vain already is not waited for as long again.
func (r *Reconciler) waitForIdle(ctx context.Context, s *scope, host *infrav1.ElementalHost) (time.Duration, error) {
	if hoststate.Interruptible(host) {
		return 0, nil
	}
	if lost, err := r.isLost(ctx, host); err != nil || lost {
		return 0, err
	}
	return r.rebootTimeout(ctx, s) - r.observed.Age(deletionOf{s.machine.UID}, s.machine.DeletionTimestamp.Time, r.Clock.Now()), nil
}

// deletionOf is the key of when the deletion of a machine was seen.
type deletionOf struct{ uid types.UID }

// isLost reports whether the attempt that the host is in the middle of has given it up: the deletion of the
// Machine ends an attempt as Aborted, and before the host's own end only if it is lost.
func (r *Reconciler) isLost(ctx context.Context, host *infrav1.ElementalHost) (bool, error) {
	attempt := host.Status.Upgrade.Attempt
	name := attempts.NameOf(attempt)
	upgrade := &infrav1.ElementalHostUpgrade{}
	if err := r.Client.Get(ctx, client.ObjectKey{Namespace: host.Namespace, Name: name}, upgrade); err != nil {
		if client.IgnoreNotFound(err) == nil {
			return false, nil
		}
		return false, fmt.Errorf("reading ElementalHostUpgrade %s: %w", name, err)
	}
	phase := upgrade.Status.Phase
	return upgrade.Status.Attempt == attempt && (phase == infrav1.UpgradeHostLost || phase == infrav1.UpgradeAborted), nil
}

// rebootTimeout is the cluster's, or the default if the cluster is gone.
func (r *Reconciler) rebootTimeout(ctx context.Context, s *scope) time.Duration {
	option := infrav1.NodeUpgradeOption{}
	if s.cluster != nil && s.cluster.Spec.InfrastructureRef.IsDefined() {
		cluster := &infrav1.ElementalCluster{}
		key := client.ObjectKey{Namespace: s.machine.Namespace, Name: s.cluster.Spec.InfrastructureRef.Name}
		if err := r.Client.Get(ctx, key, cluster); err == nil {
			option = cluster.Spec.NodeUpgradeOption
		}
	}
	return option.Timeouts.Reboot()
}
