// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package machine

import (
	"context"
	"time"

	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
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
		if wait := r.waitForIdle(ctx, s, host); wait > 0 {
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
	controllerutil.RemoveFinalizer(s.machine, infrav1.ElementalMachineFinalizer)
	return ctrl.Result{}, nil
}

// waitForIdle is how much longer the release waits for the host's agent. A host that has not come back
// within the time-out of a reboot is lost, and is released all the same: it resets itself should it ever
// return.
func (r *Reconciler) waitForIdle(ctx context.Context, s *scope, host *infrav1.ElementalHost) time.Duration {
	if hoststate.Interruptible(host) {
		return 0
	}
	deadline := s.machine.DeletionTimestamp.Add(r.rebootTimeout(ctx, s))
	return deadline.Sub(r.Clock.Now())
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
	return option.WithDefaults().Timeouts.Reboot.Duration
}
