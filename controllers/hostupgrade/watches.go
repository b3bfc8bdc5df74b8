// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package hostupgrade

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/controllers/clustercache"
	"sigs.k8s.io/cluster-api/util/annotations"
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
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/clusterview"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/enqueue"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/hoststate"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/osversion"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/owner"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/pausing"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/predicates"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/rancher"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/rollout"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/workload"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/workload/drainwatch"
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
		Watches(&clusterv1.MachineDeployment{}, handler.EnqueueRequestsFromMapFunc(r.attemptsOfDeployment), builder.WithPredicates(deploymentChanged())).
		Watches(&infrav1.ElementalMachineTemplate{}, handler.EnqueueRequestsFromMapFunc(r.attemptsOfTemplate), builder.WithPredicates(osChanged())).
		Watches(&infrav1.ElementalRollout{}, handler.EnqueueRequestsFromMapFunc(r.attemptsOfRollout), builder.WithPredicates(holdChanged())).
		Watches(&infrav1.ElementalCluster{}, handler.EnqueueRequestsFromMapFunc(r.nextOf), builder.WithPredicates(slotFreed())).
		Watches(&infrav1.ElementalCluster{}, handler.EnqueueRequestsFromMapFunc(r.queueOf), builder.WithPredicates(quarantineChanged())).
		Watches(&infrav1.ElementalClusterUpgrade{}, handler.EnqueueRequestsFromMapFunc(r.queueOfUpgrade), builder.WithPredicates(orderChanged())).
		Watches(&infrav1.ElementalClusterUpgrade{}, handler.EnqueueRequestsFromMapFunc(r.behindGates), builder.WithPredicates(gatesChanged())).
		Watches(&infrav1.ElementalHostUpgrade{}, handler.EnqueueRequestsFromMapFunc(r.queueBehind), builder.WithPredicates(madeWay()))
	watching = watching.WatchesRawSource(r.drains.Source()).WatchesRawSource(r.limit.Source())
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
			predicates.MetadataOf(attempt), attempt.Spec, attempt.Status.Phase, predicates.PausedCondition(attempt), awaitsOthers(attempt), attempts.AwaitedTurn(attempt) != "",
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

// deploymentChanged passes the spec of a MachineDeployment, and its pause.
func deploymentChanged() predicate.Funcs {
	return predicates.Changed(func(deployment *clusterv1.MachineDeployment) any {
		return []any{deployment.Generation, annotations.HasPaused(deployment)}
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

// watchNodes sees to it that an attempt is woken when a person resumes, or uncordons, its Node. The cache of Nodes is
// one that other controllers have already.
func (r *Reconciler) watchNodes(ctx context.Context, cluster client.ObjectKey) error {
	if r.Clusters == nil || r.controller == nil {
		return nil
	}
	err := r.Clusters.Watch(ctx, cluster, clustercache.NewWatcher(clustercache.WatcherOptions{
		Name:    controllerName + "-nodes",
		Watcher: r.controller,
		Kind:    &corev1.Node{},
		EventHandler: handler.EnqueueRequestsFromMapFunc(func(ctx context.Context, node client.Object) []ctrl.Request {
			return r.attemptsOnNode(ctx, cluster, node.GetName())
		}),
		Predicates: []predicate.TypedPredicate[client.Object]{operated()},
	}))
	if err != nil && !errors.Is(err, clustercache.ErrClusterNotConnected) {
		return fmt.Errorf("watching the Nodes of Cluster %s: %w", cluster.Name, err)
	}
	return nil
}

// operated passes what people do to a Node before its upgrade. All Nodes of a cluster are created in its cache when it
// is connected, which wakes its attempts by itself.
func operated() predicate.Funcs {
	return predicate.Funcs{
		CreateFunc:  func(event.CreateEvent) bool { return false },
		GenericFunc: func(event.GenericEvent) bool { return false },
		UpdateFunc: predicates.Changed(func(node *corev1.Node) any {
			return []any{pausing.MarksOf(node), node.Spec.Unschedulable}
		}).UpdateFunc,
	}
}

// attemptsOnNode are those that can still change.
func (r *Reconciler) attemptsOnNode(ctx context.Context, cluster client.ObjectKey, node string) []ctrl.Request {
	found, err := attempts.OnNode(ctx, r.Client, cluster, node)
	return enqueue.Matching(ctx, found, err, func(attempt *infrav1.ElementalHostUpgrade) bool { return !attempts.IsHistory(attempt) })
}

// watchDrain has the attempt woken by what leaves its Node. It comes before the Node is read, so that nothing leaves
// unnoticed in between, and reports whether it could be done: if not, the Node is polled.
func (r *Reconciler) watchDrain(ctx context.Context, o *observation, kinds ...drainwatch.Kind) bool {
	o.watched = append(o.watched, kinds...)
	return r.drains.Ensure(ctx, drainwatch.Drain{
		Request: o.reconcileRequest(), Cluster: o.clusterKey(), Node: o.node.Name, Open: o.workload.Watcher,
	}, pollPods, kinds...)
}

func (o *observation) reconcileRequest() ctrl.Request {
	return ctrl.Request{NamespacedName: client.ObjectKeyFromObject(o.upgrade)}
}

// poll is after how long a step looks again that waits for what is watched, or polled after a time where it is not.
func poll(isWatched bool, otherwise time.Duration) time.Duration {
	if isWatched {
		return pollWatched
	}
	return otherwise
}

// pollUntold is after how long a step looks again that waits for what no event on the Node tells of, such as a
// PodDisruptionBudget that allows no eviction, or a person. The longer it has waited, the less often it looks.
func (o *observation) pollUntold(step string) time.Duration {
	return lessOften(o.now.Sub(o.enteredAt(step)), pollPods, pollWatched)
}

// lessOften is after how long to look again at what lasts: the longer it has, the less often.
func lessOften(lasted, least, most time.Duration) time.Duration {
	const tenth = 10
	return min(max(least, lasted/tenth), most)
}

// attemptsOfTemplate wakes the attempts for a template: another OS is wanted now.
func (r *Reconciler) attemptsOfTemplate(ctx context.Context, template client.Object) []ctrl.Request {
	rollouts, err := rollout.OfTemplate(ctx, r.Client, template.GetNamespace(), template.GetName())
	clusters := sets.New[string]()
	for i := range rollouts {
		clusters.Insert(rollouts[i].Spec.ClusterName)
	}
	found := []infrav1.ElementalHostUpgrade{}
	for cluster := range clusters {
		unsettled, listErr := attempts.Unsettled(ctx, r.Client, client.ObjectKey{Namespace: template.GetNamespace(), Name: cluster})
		err = errors.Join(err, listErr)
		found = append(found, slices.DeleteFunc(unsettled, func(u infrav1.ElementalHostUpgrade) bool { return u.Spec.TemplateName != template.GetName() })...)
	}
	return enqueue.All(ctx, found, err)
}

// attemptsOfRollout wakes the attempts of a rollout, when what stops or holds it has changed.
func (r *Reconciler) attemptsOfRollout(ctx context.Context, object client.Object) []ctrl.Request {
	unsettled, err := attempts.Unsettled(ctx, r.Client, clusterview.ClusterOf(object))
	return enqueue.Matching(ctx, unsettled, err, func(u *infrav1.ElementalHostUpgrade) bool { return u.Spec.RolloutName == object.GetName() })
}

// holdChanged passes what stops or holds a rollout.
func holdChanged() predicate.Funcs {
	return predicates.Changed(func(of *infrav1.ElementalRollout) any { return []any{of.Spec.StoppedBy, of.Spec.HeldBy} })
}

// osChanged passes another OS of a template, and its pause.
func osChanged() predicate.Funcs {
	return predicates.Changed(func(template *infrav1.ElementalMachineTemplate) any {
		return []any{osversion.Hash(osversion.OfTemplate(template)), annotations.HasPaused(template)}
	})
}

// hostChanged lets pass all of a host but the progress of what takes long, when its agent spoke, and its conditions: each write of those
// would have the attempt read everything live for nothing that it decides on.
func hostChanged() predicate.Funcs {
	return predicates.Changed(seen)
}

func seen(host *infrav1.ElementalHost) any {
	seen := *host
	seen.ResourceVersion, seen.ManagedFields = "", nil
	seen.Annotations = predicates.Without(seen.Annotations, infrav1.BlockMoveAnnotation) // which is the attempts' own
	seen.Status.Agent.LastSeen, seen.Status.Conditions = metav1.Time{}, nil
	seen.Status.Upgrade = hoststate.WithoutProgress(seen.Status.Upgrade)
	return seen
}

// eachCluster maps an ElementalCluster by the Clusters that refer to it.
func (r *Reconciler) eachCluster(
	ctx context.Context, object client.Object, wake func(ctx context.Context, namespace, cluster string) []ctrl.Request,
) []ctrl.Request {

	clusters := &clusterv1.ClusterList{}
	if err := r.Client.List(ctx, clusters, client.InNamespace(object.GetNamespace()), client.UnsafeDisableDeepCopy); err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "Failed to list Clusters", "ElementalCluster", object.GetName())
		return nil
	}
	requests := []ctrl.Request{}
	for i := range clusters.Items {
		if clusters.Items[i].Spec.InfrastructureRef.Name == object.GetName() {
			requests = append(requests, wake(ctx, object.GetNamespace(), clusters.Items[i].Name)...)
		}
	}
	return requests
}

// queueOfUpgrade wakes the attempts that wait for a slot of the cluster of an ElementalClusterUpgrade.
func (r *Reconciler) queueOfUpgrade(ctx context.Context, object client.Object) []ctrl.Request {
	return r.queued(ctx, object.GetNamespace(), object.(*infrav1.ElementalClusterUpgrade).Spec.ClusterName)
}

// behindGates wakes the attempts that the gates of an ElementalClusterUpgrade hold.
func (r *Reconciler) behindGates(ctx context.Context, object client.Object) []ctrl.Request {
	return requestsFor(slices.DeleteFunc(r.waiting(ctx, object.GetNamespace(), object.(*infrav1.ElementalClusterUpgrade).Spec.ClusterName),
		func(attempt *infrav1.ElementalHostUpgrade) bool {
			held := attempts.FirstHold(attempt)
			return held == nil || held.Reason != infrav1.HoldGateClosed
		}))
}

// gatesChanged passes other gates of an ElementalClusterUpgrade that are open.
func gatesChanged() predicate.Funcs {
	return predicate.Funcs{
		CreateFunc:  func(event.CreateEvent) bool { return false },
		DeleteFunc:  func(event.DeleteEvent) bool { return false },
		GenericFunc: func(event.GenericEvent) bool { return false },
		UpdateFunc:  predicates.Changed(func(upgrade *infrav1.ElementalClusterUpgrade) any { return openGates(upgrade) }).UpdateFunc,
	}
}

// orderChanged passes what decides, on an ElementalClusterUpgrade, whether an attempt may start: what users ask of it, its stages and windows. What a
// manager sees when it starts is not among it, since it looks at all attempts then.
func orderChanged() predicate.Funcs {
	return predicate.Funcs{
		CreateFunc:  func(event.CreateEvent) bool { return false }, // it holds attempts, and lets none go
		GenericFunc: func(event.GenericEvent) bool { return false },
		UpdateFunc: predicates.Changed(func(upgrade *infrav1.ElementalClusterUpgrade) any {
			return []any{
				upgrade.Generation, upgrade.DeletionTimestamp.IsZero(), annotations.HasPaused(upgrade), upgrade.PhaseNow(), upgrade.Status.Stage,
				completedStages(upgrade), upgrade.Status.NextWindow == nil,
			}
		}).UpdateFunc,
	}
}

// completedStages is how many stages are done: the soak of one starts then.
func completedStages(upgrade *infrav1.ElementalClusterUpgrade) (count int) {
	for _, stage := range upgrade.Status.Stages {
		if stage.CompletionTime != nil {
			count++
		}
	}
	return count
}

// openGates are the gates that are open, and for what. Why others are closed lets no attempt go.
func openGates(upgrade *infrav1.ElementalClusterUpgrade) []string {
	open := []string{}
	for _, gate := range upgrade.Status.Gates {
		if gate.Open {
			open = append(open, gate.Name+"/"+gate.Key)
		}
	}
	return open
}

// quarantineChanged passes an ElementalCluster that holds other images, or was created again. What a manager sees when it starts is not among it, since
// it looks at all attempts then.
func quarantineChanged() predicate.Funcs {
	return predicate.Funcs{
		CreateFunc:  func(e event.CreateEvent) bool { return !e.IsInInitialList },
		DeleteFunc:  func(event.DeleteEvent) bool { return false },
		GenericFunc: func(event.GenericEvent) bool { return false },
		UpdateFunc:  predicates.Changed(func(cluster *infrav1.ElementalCluster) any { return cluster.Spec.Quarantine }).UpdateFunc,
	}
}
