// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package hostupgrade

import (
	"context"
	"fmt"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/predicates"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
)

// Indexes of ElementalHostUpgrades in the manager's cache.
const (
	hostIndex    = "spec.hostName"
	machineIndex = "spec.machineName"
	clusterIndex = "spec.clusterName"
)

// SetupWithManager adds the controller to the manager, with the indexes it needs.
func (r *Reconciler) SetupWithManager(ctx context.Context, mgr ctrl.Manager, options controller.Options) error {
	if err := addIndexes(ctx, mgr); err != nil {
		return err
	}
	filter := predicates.ResourceHasFilterLabel(mgr.GetScheme(), mgr.GetLogger(), r.WatchFilter)
	err := ctrl.NewControllerManagedBy(mgr).
		For(&infrav1.ElementalHostUpgrade{}).
		WithOptions(options).
		WithEventFilter(filter).
		Watches(&infrav1.ElementalHost{}, r.requeue(hostIndex)).
		Watches(&clusterv1.Machine{}, r.requeue(machineIndex)).
		Watches(&clusterv1.Cluster{}, r.requeue(clusterIndex)).
		Watches(&clusterv1.MachineDeployment{}, handler.EnqueueRequestsFromMapFunc(r.attemptsOfDeployment)).
		Complete(r)
	if err != nil {
		return fmt.Errorf("setting up the ElementalHostUpgrade controller: %w", err)
	}
	return nil
}

func addIndexes(ctx context.Context, mgr ctrl.Manager) error {
	for field, value := range map[string]func(*infrav1.ElementalHostUpgrade) string{
		hostIndex:    func(u *infrav1.ElementalHostUpgrade) string { return u.Spec.HostName },
		machineIndex: func(u *infrav1.ElementalHostUpgrade) string { return u.Spec.MachineName },
		clusterIndex: func(u *infrav1.ElementalHostUpgrade) string { return u.Spec.ClusterName },
	} {
		err := mgr.GetFieldIndexer().IndexField(ctx, &infrav1.ElementalHostUpgrade{}, field, func(object client.Object) []string {
			return []string{value(object.(*infrav1.ElementalHostUpgrade))}
		})
		if err != nil {
			return fmt.Errorf("indexing ElementalHostUpgrades by %s: %w", field, err)
		}
	}
	return nil
}

// requeue wakes the attempts that name the object in the indexed field. An object without attempts,
// as an idle host is, wakes nothing.
func (r *Reconciler) requeue(index string) handler.EventHandler {
	return handler.EnqueueRequestsFromMapFunc(func(ctx context.Context, object client.Object) []ctrl.Request {
		return r.attempts(ctx, object.GetNamespace(), index, object.GetName())
	})
}

// attemptsOfDeployment wakes the attempts of a cluster: what their owners want may have changed.
func (r *Reconciler) attemptsOfDeployment(ctx context.Context, object client.Object) []ctrl.Request {
	return r.attempts(ctx, object.GetNamespace(), clusterIndex, object.(*clusterv1.MachineDeployment).Spec.ClusterName)
}

func (r *Reconciler) attempts(ctx context.Context, namespace, index, value string) []ctrl.Request {
	attempts := &infrav1.ElementalHostUpgradeList{}
	err := r.Client.List(ctx, attempts, client.InNamespace(namespace), client.MatchingFields{index: value})
	if err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "Failed to list ElementalHostUpgrades", "index", index, "value", value)
		return nil
	}
	requests := make([]ctrl.Request, 0, len(attempts.Items))
	for i := range attempts.Items {
		requests = append(requests, ctrl.Request{NamespacedName: client.ObjectKeyFromObject(&attempts.Items[i])})
	}
	return requests
}
