// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package hostupgrade

import (
	"context"
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/predicates"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/source"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/attempts"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/enqueue"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/rancher"
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
		Watches(&infrav1.ElementalHost{}, r.requeueNamed(attempts.ByHost), builder.WithPredicates(hostChanged())).
		Watches(&clusterv1.Machine{}, r.requeueNamed(attempts.ByMachine)).
		Watches(&clusterv1.Cluster{}, handler.EnqueueRequestsFromMapFunc(r.attemptsOfCluster)).
		Watches(&clusterv1.MachineDeployment{}, handler.EnqueueRequestsFromMapFunc(r.attemptsOfDeployment),
			builder.WithPredicates(predicate.GenerationChangedPredicate{})).
		Watches(&infrav1.ElementalMachineTemplate{}, handler.EnqueueRequestsFromMapFunc(r.attemptsOfTemplate), builder.WithPredicates(osChanged())).
		Watches(&infrav1.ElementalCluster{}, handler.EnqueueRequestsFromMapFunc(r.queueOf), builder.WithPredicates(slotsChanged())).
		Watches(&infrav1.ElementalClusterUpgrade{}, handler.EnqueueRequestsFromMapFunc(r.queueOfUpgrade), builder.WithPredicates(orderChanged())).
		Watches(&infrav1.ElementalHostUpgrade{}, handler.EnqueueRequestsFromMapFunc(r.queueBehind), builder.WithPredicates(madeWay()))
	watching = watching.WatchesRawSource(r.drains.Source())
	if r.Drains != nil {
		watching = watching.WatchesRawSource(source.Kind(r.Drains, rancher.NewSecret(),
			handler.TypedEnqueueRequestsFromMapFunc(r.attemptsOfDrain), rancher.Changed()))
	}
	if r.Clusters != nil {
		watching = watching.WatchesRawSource(r.Clusters.GetClusterSource(controllerName, r.attemptsOfCluster))
	}
	var err error
	if r.controller, err = watching.Build(r); err != nil {
		return fmt.Errorf("setting up the ElementalHostUpgrade controller: %w", err)
	}
	return nil
}

// requeueNamed wakes the attempts that name the object in the field and can still change: an idle host wakes nothing.
func (r *Reconciler) requeueNamed(field string) handler.EventHandler {
	return handler.EnqueueRequestsFromMapFunc(func(ctx context.Context, object client.Object) []ctrl.Request {
		return r.attemptsNaming(ctx, field, client.ObjectKeyFromObject(object))
	})
}

func (r *Reconciler) attemptsNaming(ctx context.Context, field string, named client.ObjectKey) []ctrl.Request {
	found := &infrav1.ElementalHostUpgradeList{}
	err := r.Client.List(ctx, found, client.InNamespace(named.Namespace), client.MatchingFields{field: named.Name}, client.UnsafeDisableDeepCopy)
	return enqueue.All(ctx, slices.DeleteFunc(found.Items, attempts.IsSettled), err)
}

// attemptsOfDrain wakes the attempts on a Machine that Rancher drains.
func (r *Reconciler) attemptsOfDrain(ctx context.Context, secret *metav1.PartialObjectMetadata) []ctrl.Request {
	return r.attemptsNaming(ctx, attempts.ByMachine, client.ObjectKey{Namespace: secret.Namespace, Name: secret.Labels[rancher.MachineNameLabel]})
}

// attemptsOfDeployment wakes the attempts of a cluster: what their owners want may have changed.
func (r *Reconciler) attemptsOfDeployment(ctx context.Context, object client.Object) []ctrl.Request {
	md, ok := object.(*clusterv1.MachineDeployment)
	if !ok {
		return nil
	}
	found, err := attempts.Unsettled(ctx, r.Client, client.ObjectKey{Namespace: md.Namespace, Name: md.Spec.ClusterName})
	return enqueue.All(ctx, found, err)
}

// attemptsOfCluster wakes the attempts of a cluster: it can be looked at again, or no more.
func (r *Reconciler) attemptsOfCluster(ctx context.Context, object client.Object) []ctrl.Request {
	found, err := attempts.Unsettled(ctx, r.Client, client.ObjectKeyFromObject(object))
	return enqueue.All(ctx, found, err)
}
