// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package clusterupgrade

import (
	"context"
	"fmt"
	"time"

	kerrors "k8s.io/apimachinery/pkg/util/errors"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/annotations"
	"sigs.k8s.io/cluster-api/util/conditions"
	"sigs.k8s.io/cluster-api/util/labels"
	"sigs.k8s.io/cluster-api/util/paused"
	"sigs.k8s.io/cluster-api/util/predicates"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/clusterupgrade"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/clusterview"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/enqueue"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/existing"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/mergepatch"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/moved"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/observed"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/owner"
	changed "github.com/rancher-sandbox/cluster-api-provider-elemental/internal/predicates"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/workload"
)

// +kubebuilder:rbac:groups=infrastructure.cluster.x-k8s.io,resources=elementalclusterupgrades,verbs=get;list;watch;patch
// +kubebuilder:rbac:groups=infrastructure.cluster.x-k8s.io,resources=elementalclusterupgrades/status,verbs=patch
// +kubebuilder:rbac:groups=infrastructure.cluster.x-k8s.io,resources=elementalmachinetemplates;elementalrollouts,verbs=get;list;watch;patch
// +kubebuilder:rbac:groups=infrastructure.cluster.x-k8s.io,resources=elementalclusters;elementalmachines;elementalhostupgrades,verbs=get;list;watch
// +kubebuilder:rbac:groups=cluster.x-k8s.io,resources=clusters;machines,verbs=get;list;watch
// +kubebuilder:rbac:groups=cluster.x-k8s.io,resources=clusters,verbs=patch
// +kubebuilder:rbac:groups=events.k8s.io,resources=events,verbs=create;patch

const (
	// retry is how often a stage that waits is looked at. What it waits for is an event, as a rule.
	retry = 30 * time.Second
	// soon is for what nothing but this controller's own write is waited for.
	soon = 10 * time.Millisecond
)

// Reconciler reconciles ElementalClusterUpgrades.
type Reconciler struct {
	// Client reads from the manager's cache, which has the indexes of packages clusterview and clusterupgrade, and writes.
	Client client.Client
	// APIReader reads live: an upgrade that has ended must not start again.
	APIReader client.Reader
	// Workload opens workload clusters, for gates and KubeVirt.
	Workload workload.Connector
	// KubeVirt is the upgrade of a workload cluster's KubeVirt to a version; live reads and writes that cluster without a cache.
	KubeVirt func(live client.Client, version string) KubeVirt
	// Recorder of events.
	Recorder events.EventRecorder
	// Clock is the time.
	Clock clock.PassiveClock
	// WatchFilter limits the controller to objects with that value of Cluster API's watch-filter label.
	WatchFilter string

	// observed is what was seen of the Jobs of gates, by the clocks of others.
	observed observed.Changes
}

// SetupWithManager adds the controller to the manager.
func (r *Reconciler) SetupWithManager(_ context.Context, mgr ctrl.Manager, options controller.Options) error {
	toUpgrades := changed.AfterMoment(r.upgradesOf) // a plan has all Machines of a Cluster
	err := ctrl.NewControllerManagedBy(mgr).
		For(&infrav1.ElementalClusterUpgrade{}, builder.WithPredicates(
			predicates.ResourceHasFilterLabel(mgr.GetScheme(), mgr.GetLogger(), r.WatchFilter), changed.Changed(seen))).
		WithOptions(options).
		Watches(&clusterv1.Cluster{}, handler.EnqueueRequestsFromMapFunc(r.upgradesOfCluster)).
		Watches(&clusterv1.Machine{}, toUpgrades).
		Watches(&infrav1.ElementalMachine{}, toUpgrades).
		Watches(&infrav1.ElementalHostUpgrade{}, toUpgrades).
		Watches(&infrav1.ElementalRollout{}, toUpgrades, builder.WithPredicates(changed.Changed(rolloutChanged))).
		Watches(&infrav1.ElementalMachineTemplate{}, handler.EnqueueRequestsFromMapFunc(r.upgradesOfTemplate)).
		Complete(r)
	if err != nil {
		return fmt.Errorf("setting up the ElementalClusterUpgrade controller: %w", err)
	}
	return nil
}

// seen is what of an upgrade brings it on. What it says of itself does not: a text that is another one each time, as of a gate, would have it
// reconciled without end.
func seen(upgrade *infrav1.ElementalClusterUpgrade) any {
	return []any{
		upgrade.Generation, upgrade.Annotations, upgrade.Labels, upgrade.Finalizers, upgrade.OwnerReferences, upgrade.DeletionTimestamp,
		upgrade.Status.Phase, upgrade.Status.Stages, changed.PausedCondition(upgrade),
	}
}

// rolloutChanged is what of a rollout keeps an upgrade that is cancelled from its end.
func rolloutChanged(of *infrav1.ElementalRollout) any {
	return []any{of.Spec.HeldBy, of.Spec.Completed}
}

// upgradesOf the Cluster that an object belongs to.
func (r *Reconciler) upgradesOf(ctx context.Context, object client.Object) []reconcile.Request {
	return r.upgradesIn(ctx, clusterview.ClusterOf(object))
}

// upgradesOfCluster are those of a Cluster that have not ended, or whose status does not say so: "clusterctl move" brings them without it, into a Cluster
// that is paused.
func (r *Reconciler) upgradesOfCluster(ctx context.Context, object client.Object) []reconcile.Request {
	found, err := clusterupgrade.AllOf(ctx, r.Client, client.ObjectKeyFromObject(object))
	return enqueue.Matching(ctx, found, err, func(u *infrav1.ElementalClusterUpgrade) bool {
		return !u.PhaseNow().IsEnd() || u.Status.Phase != u.PhaseNow() || conditions.IsTrue(u, clusterv1.PausedCondition)
	})
}

func (r *Reconciler) upgradesIn(ctx context.Context, cluster client.ObjectKey) []reconcile.Request {
	if cluster.Name == "" {
		return nil
	}
	found, err := clusterupgrade.Of(ctx, r.Client, cluster)
	return enqueue.All(ctx, found, err)
}

// upgradesOfTemplate are those of the namespace that have not ended: which Clusters use a template is not in it, and upgrades are few.
func (r *Reconciler) upgradesOfTemplate(ctx context.Context, object client.Object) []reconcile.Request {
	found := &infrav1.ElementalClusterUpgradeList{}
	err := r.Client.List(ctx, found, client.InNamespace(object.GetNamespace()), client.UnsafeDisableDeepCopy)
	return enqueue.Matching(ctx, found.Items, err, func(u *infrav1.ElementalClusterUpgrade) bool { return !u.PhaseNow().IsEnd() })
}

// Reconcile brings an upgrade one step further.
func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (_ ctrl.Result, reterr error) {
	upgrade, err := existing.Get(ctx, r.APIReader, &infrav1.ElementalClusterUpgrade{}, req.Namespace, req.Name)
	if err != nil || upgrade == nil || moved.Away(upgrade) || !r.isOurs(upgrade) {
		return ctrl.Result{}, err
	}
	cluster, err := existing.Get(ctx, r.Client, &clusterv1.Cluster{}, req.Namespace, upgrade.Spec.ClusterName)
	if err != nil {
		return ctrl.Result{}, err
	}
	isPaused, isStored, err := r.isPaused(ctx, cluster, upgrade)
	if err != nil || isStored {
		return ctrl.Result{}, err
	}
	before := upgrade.DeepCopy()
	defer func() {
		if err := mergepatch.Store(ctx, r.Client, before, upgrade); client.IgnoreNotFound(err) != nil {
			reterr = kerrors.NewAggregate([]error{reterr, fmt.Errorf("writing ElementalClusterUpgrade %s: %w", upgrade.Name, err)})
		}
	}()
	if isPaused {
		tellPaused(cluster, upgrade)
		return ctrl.Result{}, nil
	}
	return r.reconcile(ctx, cluster, upgrade)
}

// tellPaused says in the status that nothing is done, and who can change that.
func tellPaused(cluster *clusterv1.Cluster, upgrade *infrav1.ElementalClusterUpgrade) {
	if upgrade.PhaseNow().IsEnd() {
		return
	}
	upgrade.Status.EstimatedCompletionTime = nil
	upgrade.Status.Message = fmt.Sprintf("paused: remove annotation %s of the ElementalClusterUpgrade to go on", clusterv1.PausedAnnotation)
	if ptr.Deref(cluster.Spec.Paused, false) {
		upgrade.Status.Message = fmt.Sprintf("paused: set spec.paused of Cluster %s to false to go on", cluster.Name)
	}
}

// isOurs reports whether the watch filter lets the upgrade through: an event of a Cluster or of its Machines does not tell.
func (r *Reconciler) isOurs(upgrade *infrav1.ElementalClusterUpgrade) bool {
	return r.WatchFilter == "" || labels.HasWatchLabel(upgrade, r.WatchFilter)
}

// isPaused keeps the Paused condition, and reports whether that was stored: the upgrade is then reconciled again. A Cluster that is gone pauses nothing.
func (r *Reconciler) isPaused(
	ctx context.Context, cluster *clusterv1.Cluster, upgrade *infrav1.ElementalClusterUpgrade,
) (isPaused, isStored bool, err error) {
	if cluster == nil {
		return false, false, nil
	}
	return paused.EnsurePausedCondition(ctx, r.Client, cluster, upgrade)
}

func (r *Reconciler) reconcile(ctx context.Context, cluster *clusterv1.Cluster, upgrade *infrav1.ElementalClusterUpgrade) (ctrl.Result, error) {
	if isOver(cluster, upgrade) {
		controllerutil.RemoveFinalizer(upgrade, infrav1.ElementalClusterUpgradeFinalizer)
		return ctrl.Result{}, nil
	}
	if upgrade.PhaseNow().IsEnd() {
		r.tellEnd(upgrade)
		return ctrl.Result{}, nil
	}
	if cluster == nil {
		return r.cannotGoOn(cluster, upgrade, fmt.Sprintf("Cluster %s does not exist", upgrade.Spec.ClusterName)), nil
	}
	if upgrade.DeletionTimestamp.IsZero() && ensureMarks(cluster, upgrade) {
		return ctrl.Result{RequeueAfter: soon}, nil // nothing is changed before the finalizer is stored
	}
	return r.act(ctx, cluster, upgrade)
}

// act does what the state of the Cluster, and its other upgrades, ask of one that has not ended.
func (r *Reconciler) act(ctx context.Context, cluster *clusterv1.Cluster, upgrade *infrav1.ElementalClusterUpgrade) (ctrl.Result, error) {
	o, why, err := r.observe(ctx, cluster, upgrade)
	if err != nil {
		return ctrl.Result{}, err
	}
	if why != "" {
		return r.withoutPlan(ctx, o, why)
	}
	governing, err := clusterupgrade.Governing(ctx, r.APIReader, client.ObjectKeyFromObject(cluster))
	switch {
	case err != nil:
		return ctrl.Result{}, err
	case governing != nil && governing.UID != upgrade.UID:
		return r.makeWay(ctx, o, governing)
	case isCancelled(upgrade):
		return r.cancel(ctx, o)
	}
	return r.advance(ctx, o)
}

// withoutPlan gives KubeVirt its workload updates back where the upgrade is cancelled: a former one may have held them for this one.
func (r *Reconciler) withoutPlan(ctx context.Context, o *observation, why string) (ctrl.Result, error) {
	if isCancelled(o.upgrade) {
		if unrestored, err := r.restoreWorkloads(ctx, o); err != nil || unrestored != "" {
			r.report(o.upgrade, infrav1.ClusterUpgradeCancelling, "", "cancelled; "+unrestored)
			return ctrl.Result{RequeueAfter: retry}, err
		}
	}
	return r.cannotGoOn(o.cluster, o.upgrade, why), nil
}

// cannotGoOn reports why nothing can be planned. One that is cancelled ends, unless there is something that it has begun and could not hold.
func (r *Reconciler) cannotGoOn(cluster *clusterv1.Cluster, upgrade *infrav1.ElementalClusterUpgrade, why string) ctrl.Result {
	hasBegun := cluster != nil && len(upgrade.Status.Stages) > 0
	switch {
	case isCancelled(upgrade) && !hasBegun:
		r.end(upgrade, infrav1.ClusterUpgradeCancelled, why)
		return ctrl.Result{}
	case isCancelled(upgrade):
		r.report(upgrade, infrav1.ClusterUpgradeCancelling, "", "cancelled; nodes that have not started cannot be held: "+why)
	default:
		r.report(upgrade, infrav1.ClusterUpgradePending, "", why)
	}
	return ctrl.Result{RequeueAfter: retry}
}

func isCancelled(upgrade *infrav1.ElementalClusterUpgrade) bool {
	return upgrade.Spec.Cancel || !upgrade.DeletionTimestamp.IsZero()
}

// isOver reports whether nothing is left to be held: the Cluster goes, or an upgrade that has ended is deleted.
func isOver(cluster *clusterv1.Cluster, upgrade *infrav1.ElementalClusterUpgrade) bool {
	isDeleted := !upgrade.DeletionTimestamp.IsZero()
	if cluster == nil {
		return isDeleted
	}
	return !cluster.DeletionTimestamp.IsZero() || isDeleted && upgrade.PhaseNow().IsEnd()
}

// ensureMarks puts on an upgrade what it has to have before it changes anything, and reports whether it was missing. The Cluster owns it, so that
// both are moved, and deleted, together.
func ensureMarks(cluster *clusterv1.Cluster, upgrade *infrav1.ElementalClusterUpgrade) bool {
	added := controllerutil.AddFinalizer(upgrade, infrav1.ElementalClusterUpgradeFinalizer)
	added = owner.SetCluster(upgrade, cluster) || added
	if _, known := upgrade.Annotations[infrav1.CreatedAnnotation]; known {
		return added
	}
	return annotations.AddAnnotations(upgrade, map[string]string{
		infrav1.CreatedAnnotation: upgrade.CreationTimestamp.UTC().Format(time.RFC3339),
	}) || added
}
