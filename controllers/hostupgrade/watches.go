// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package hostupgrade

import (
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	capipredicates "sigs.k8s.io/cluster-api/util/predicates"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/source"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/attempts"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/enqueue"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/owner"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/predicates"
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
	filter := capipredicates.ResourceHasFilterLabel(mgr.GetScheme(), mgr.GetLogger(), r.WatchFilter)
	watching := ctrl.NewControllerManagedBy(mgr).
		For(&infrav1.ElementalHostUpgrade{}, builder.WithPredicates(attemptChanged())).
		WithOptions(options).
		WithEventFilter(filter).
		Watches(&infrav1.ElementalHost{}, handler.EnqueueRequestsFromMapFunc(r.attemptsOnHost), builder.WithPredicates(hostChanged())).
		Watches(&clusterv1.Machine{}, handler.EnqueueRequestsFromMapFunc(r.attemptsOnMachine), builder.WithPredicates(machineChanged())).
		Watches(&clusterv1.Cluster{}, handler.EnqueueRequestsFromMapFunc(r.attemptsOfCluster), builder.WithPredicates(clusterChanged())).
		Watches(&clusterv1.MachineDeployment{}, handler.EnqueueRequestsFromMapFunc(r.attemptsOfDeployment),
			builder.WithPredicates(predicate.GenerationChangedPredicate{})).
		Watches(&infrav1.ElementalMachineTemplate{}, handler.EnqueueRequestsFromMapFunc(r.attemptsOfTemplate), builder.WithPredicates(osChanged())).
		Watches(&infrav1.ElementalCluster{}, handler.EnqueueRequestsFromMapFunc(r.nextOf), builder.WithPredicates(slotFreed())).
		Watches(&infrav1.ElementalCluster{}, handler.EnqueueRequestsFromMapFunc(r.queueOf), builder.WithPredicates(quarantineChanged())).
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

// attemptChanged passes what others change of an attempt, its pause and its end: what has ended is withdrawn from its host after the end
// is stored. Of its status it passes besides that it waits for others, from which point on their events wake it: one that came before is
// made up for. Attempts that are settled when the manager starts are left out; a host that is still asked for one wakes it. The others are looked at in
// each resync.
func attemptChanged() predicate.Funcs {
	passes := predicates.Changed(func(attempt *infrav1.ElementalHostUpgrade) any {
		return []any{
			predicates.MetadataOf(attempt), attempt.Spec, attempt.Status.Phase, predicates.PausedCondition(attempt), awaitsOthers(attempt), heldForSlot(attempt) != "",
		}
	})
	changed := passes.UpdateFunc
	passes.UpdateFunc = func(e event.UpdateEvent) bool {
		attempt, isOne := e.ObjectNew.(*infrav1.ElementalHostUpgrade)
		isResync := e.ObjectNew.GetResourceVersion() == e.ObjectOld.GetResourceVersion()
		return changed(e) || isResync && isOne && !attempts.IsSettled(*attempt)
	}
	passes.CreateFunc = func(e event.CreateEvent) bool {
		attempt, isOne := e.Object.(*infrav1.ElementalHostUpgrade)
		return !isOne || !e.IsInInitialList || !attempts.IsSettled(*attempt)
	}
	return passes
}

// machineChanged passes what attempts look at. The marks for health checks are theirs.
func machineChanged() predicate.Funcs {
	return predicates.Changed(func(machine *clusterv1.Machine) any {
		metadata := predicates.MetadataOf(machine)
		metadata.Annotations = predicates.Without(metadata.Annotations, clusterv1.MachineSkipRemediationAnnotation, infrav1.SkipRemediationByAnnotation)
		return []any{metadata, machine.Spec, machine.Status.NodeRef, owner.Judged(machine)}
	})
}

// clusterChanged passes a Cluster but for its status, which counts its Machines. Connections to it are a source of their own.
func clusterChanged() predicate.Funcs {
	return predicates.Changed(func(cluster *clusterv1.Cluster) any { return []any{predicates.MetadataOf(cluster), cluster.Spec} })
}

// attemptsOnHost wakes the attempts on a host that can still change, and the one that the host is asked for: an idle host wakes nothing.
func (r *Reconciler) attemptsOnHost(ctx context.Context, object client.Object) []ctrl.Request {
	host, isHost := object.(*infrav1.ElementalHost)
	if !isHost {
		return nil
	}
	return r.attemptsNaming(ctx, attempts.ByHost, client.ObjectKeyFromObject(host), func(attempt *infrav1.ElementalHostUpgrade) bool {
		return !attempts.IsSettled(*attempt) || host.Spec.Upgrade != nil && host.Spec.Upgrade.Attempt == attemptOf(attempt)
	})
}

// attemptsOnMachine wakes the attempts on a Machine that can still change.
func (r *Reconciler) attemptsOnMachine(ctx context.Context, machine client.Object) []ctrl.Request {
	return r.attemptsNaming(ctx, attempts.ByMachine, client.ObjectKeyFromObject(machine), isUnsettled)
}

func isUnsettled(attempt *infrav1.ElementalHostUpgrade) bool { return !attempts.IsSettled(*attempt) }

// attemptsNaming are those that name an object in a field, and match.
func (r *Reconciler) attemptsNaming(ctx context.Context, field string, named client.ObjectKey, match func(*infrav1.ElementalHostUpgrade) bool) []ctrl.Request {
	found := &infrav1.ElementalHostUpgradeList{}
	err := r.Client.List(ctx, found, client.InNamespace(named.Namespace), client.MatchingFields{field: named.Name}, client.UnsafeDisableDeepCopy)
	return enqueue.Matching(ctx, found.Items, err, match)
}

// attemptsOfDrain wakes the attempts on a Machine that Rancher drains.
func (r *Reconciler) attemptsOfDrain(ctx context.Context, secret *metav1.PartialObjectMetadata) []ctrl.Request {
	return r.attemptsNaming(ctx, attempts.ByMachine, client.ObjectKey{Namespace: secret.Namespace, Name: secret.Labels[rancher.MachineNameLabel]}, isUnsettled)
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
