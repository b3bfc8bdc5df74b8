// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package hostupgrade

import (
	"context"
	"fmt"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/conditions"
	"sigs.k8s.io/cluster-api/util/predicates"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/attempts"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/workload"
)

// controllerName is the controller's name for the connections that it is told of.
const controllerName = "elementalhostupgrade"

// SetupWithManager adds the controller to the manager, whose cache has the indexes of package attempts.
func (r *Reconciler) SetupWithManager(_ context.Context, mgr ctrl.Manager, options controller.Options) error {
	if r.Soak == 0 {
		r.Soak = DefaultSoak
	}
	r.limit = workload.LimitFor(options.MaxConcurrentReconciles, crowded)
	filter := predicates.ResourceHasFilterLabel(mgr.GetScheme(), mgr.GetLogger(), r.WatchFilter)
	watching := ctrl.NewControllerManagedBy(mgr).
		For(&infrav1.ElementalHostUpgrade{}).
		WithOptions(options).
		WithEventFilter(filter).
		Watches(&infrav1.ElementalHost{}, r.requeue(attempts.ByHost), builder.WithPredicates(hostChanged())).
		Watches(&clusterv1.Machine{}, r.requeue(attempts.ByMachine)).
		Watches(&clusterv1.Cluster{}, r.requeue(attempts.ByCluster)).
		Watches(&clusterv1.MachineDeployment{}, handler.EnqueueRequestsFromMapFunc(r.attemptsOfDeployment),
			builder.WithPredicates(predicate.GenerationChangedPredicate{})).
		Watches(&infrav1.ElementalCluster{}, handler.EnqueueRequestsFromMapFunc(r.queueOf), builder.WithPredicates(slotsChanged())).
		Watches(&infrav1.ElementalHostUpgrade{}, handler.EnqueueRequestsFromMapFunc(r.queueBehind), builder.WithPredicates(madeWay()))
	watching = watching.WatchesRawSource(r.drains.Source())
	if r.Clusters != nil {
		watching = watching.WatchesRawSource(r.Clusters.GetClusterSource(controllerName, r.attemptsOfCluster))
	}
	var err error
	if r.controller, err = watching.Build(r); err != nil {
		return fmt.Errorf("setting up the ElementalHostUpgrade controller: %w", err)
	}
	return nil
}

// requeue wakes the attempts that name the object in the field. An object without attempts that can
// still change, as an idle host is, wakes nothing.
func (r *Reconciler) requeue(field string) handler.EventHandler {
	return handler.EnqueueRequestsFromMapFunc(func(ctx context.Context, object client.Object) []ctrl.Request {
		return r.attempts(ctx, object.GetNamespace(), field, object.GetName())
	})
}

// attemptsOfDeployment wakes the attempts of a cluster: what their owners want may have changed.
func (r *Reconciler) attemptsOfDeployment(ctx context.Context, object client.Object) []ctrl.Request {
	return r.attempts(ctx, object.GetNamespace(), attempts.ByCluster, object.(*clusterv1.MachineDeployment).Spec.ClusterName)
}

// attemptsOfCluster wakes the attempts of a cluster: it can be looked at again, or no more.
func (r *Reconciler) attemptsOfCluster(ctx context.Context, object client.Object) []ctrl.Request {
	return r.attempts(ctx, object.GetNamespace(), attempts.ByCluster, object.GetName())
}

func (r *Reconciler) attempts(ctx context.Context, namespace, field, value string) []ctrl.Request {
	found := &infrav1.ElementalHostUpgradeList{}
	err := r.Client.List(ctx, found, client.InNamespace(namespace), client.MatchingFields{field: value}, client.UnsafeDisableDeepCopy)
	if err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "Failed to list ElementalHostUpgrades", "field", field, "value", value)
		return nil
	}
	requests := make([]ctrl.Request, 0, len(found.Items))
	for i := range found.Items {
		// One that was paused just then has still to be taken back from its host.
		if stands(&found.Items[i]) && !conditions.IsTrue(&found.Items[i], clusterv1.PausedCondition) {
			continue
		}
		requests = append(requests, ctrl.Request{NamespacedName: client.ObjectKeyFromObject(&found.Items[i])})
	}
	return requests
}
