// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package host

import (
	"context"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/client-go/tools/events"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util"
	capicontroller "sigs.k8s.io/cluster-api/util/controller"
	"sigs.k8s.io/cluster-api/util/labels"
	"sigs.k8s.io/cluster-api/util/paused"
	"sigs.k8s.io/cluster-api/util/predicates"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/association"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/attempts"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/clusterview"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/enqueue"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/hoststate"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/managedos"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/mergepatch"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/moved"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/observed"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/workload"
)

// +kubebuilder:rbac:groups=infrastructure.cluster.x-k8s.io,resources=elementalhosts,verbs=get;list;watch;patch
// +kubebuilder:rbac:groups=infrastructure.cluster.x-k8s.io,resources=elementalhosts/status,verbs=patch
// +kubebuilder:rbac:groups=infrastructure.cluster.x-k8s.io,resources=elementalmachines;elementalhostupgrades,verbs=get;list;watch
// +kubebuilder:rbac:groups=infrastructure.cluster.x-k8s.io,resources=elementalregistrations,verbs=get;list;watch;patch
// +kubebuilder:rbac:groups=cluster.x-k8s.io,resources=clusters;machines,verbs=get;list;watch
// +kubebuilder:rbac:groups=events.k8s.io,resources=events,verbs=create;patch

const controllerName = "elementalhost"

// Reconciler reconciles ElementalHosts.
type Reconciler struct {
	// Client reads from the manager's cache and writes. The cache has the indexes of internal/association, which the machine
	// controller adds, and of internal/clusterview.
	Client client.Client
	// APIReader reads ManagedOSVersions, which are not cached, and the keys that a registration denies.
	APIReader client.Reader
	// Workload opens workload clusters.
	Workload workload.Connector
	// Clock is the time. Default: the real one.
	Clock clock.PassiveClock
	// Recorder of events. Default: the manager's.
	Recorder events.EventRecorder
	// WatchFilterValue is the value of the label cluster.x-k8s.io/watch-filter that ElementalHosts have to
	// carry; put it among the hostLabels of a registration. Empty: all of them.
	WatchFilterValue string

	// limit keeps the hosts that leave one workload cluster from taking all workers.
	limit *workload.Limit
	// observed is what was seen of objects that others have written, by the clocks of others.
	observed observed.Changes
}

// SetupWithManager adds the controller to a manager.
func (r *Reconciler) SetupWithManager(ctx context.Context, mgr ctrl.Manager, options controller.Options) error {
	if r.Clock == nil {
		r.Clock = clock.RealClock{}
	}
	if r.Recorder == nil {
		r.Recorder = mgr.GetEventRecorder(controllerName)
	}
	r.limit = workload.LimitFor(options.MaxConcurrentReconciles, crowded)
	log := mgr.GetLogger().WithValues("controller", controllerName)
	err := capicontroller.NewControllerManagedBy(mgr, log).
		Named(controllerName).
		For(&infrav1.ElementalHost{}, builder.WithPredicates(
			predicates.ResourceHasFilterLabel(mgr.GetScheme(), log, r.WatchFilterValue),
			hostChanged())).
		WithOptions(options).
		Watches(&clusterv1.Cluster{},
			handler.EnqueueRequestsFromMapFunc(r.hostsOf),
			clusterChanged()).
		Watches(&infrav1.ElementalHostUpgrade{},
			handler.EnqueueRequestsFromMapFunc(hostOf),
			attemptEnded()).
		Watches(&infrav1.ElementalRegistration{},
			handler.EnqueueRequestsFromMapFunc(association.ByRegistration(r.Client, unclaimed)),
			association.RulesChanged()).
		WatchesRawSource(r.limit.Source()).
		Complete(ctx, r)
	if err != nil {
		return fmt.Errorf("building controller %s: %w", controllerName, err)
	}
	return nil
}

// hostsOf a Cluster: those that serve its Machines, and those that are reserved for it.
func (r *Reconciler) hostsOf(ctx context.Context, cluster client.Object) []ctrl.Request {
	hosts, err := clusterview.New(r.Client, client.ObjectKeyFromObject(cluster)).Hosts(ctx)
	return enqueue.All(ctx, hosts, err)
}

// hostOf an attempt.
func hostOf(_ context.Context, attempt client.Object) []ctrl.Request {
	upgrade, isAttempt := attempt.(*infrav1.ElementalHostUpgrade)
	if !isAttempt {
		return nil
	}
	return []ctrl.Request{{NamespacedName: client.ObjectKey{Namespace: upgrade.Namespace, Name: upgrade.Spec.HostName}}}
}

// lastAttempt is the last one that has changed what a node runs, or has tried to, if the node is asked for none; nil otherwise.
func (r *Reconciler) lastAttempt(ctx context.Context, host *infrav1.ElementalHost) (*infrav1.ElementalHostUpgrade, error) {
	if host.Spec.Upgrade != nil || !hoststate.Bootstrapped(host) {
		return nil, nil
	}
	all, err := attempts.OnHost(ctx, r.Client, host.Namespace, host.Name)
	return attempts.LastAtWork(all), err
}

// skips reports whether a host is another manager's, here or on the management cluster that it is moved to.
func (r *Reconciler) skips(host *infrav1.ElementalHost) bool {
	return moved.Away(host) || r.WatchFilterValue != "" && !labels.HasWatchLabel(host, r.WatchFilterValue)
}

// Reconcile reports one ElementalHost.
func (r *Reconciler) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	host := &infrav1.ElementalHost{}
	if err := r.Client.Get(ctx, request.NamespacedName, host); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if r.skips(host) {
		return ctrl.Result{}, nil
	}
	cluster, err := r.cluster(ctx, host)
	if err != nil {
		return ctrl.Result{}, err
	}
	if isPaused, requeue, err := paused.EnsurePausedCondition(ctx, r.Client, cluster, host); err != nil || isPaused || requeue {
		return ctrl.Result{}, err
	}
	return r.reconcile(ctx, host, cluster)
}

// reconcile reports a host that is not paused.
func (r *Reconciler) reconcile(ctx context.Context, host *infrav1.ElementalHost, cluster *clusterv1.Cluster) (ctrl.Result, error) {
	if written, err := r.adopt(ctx, host); err != nil || written {
		return ctrl.Result{}, err
	}
	if written, err := r.followRegistration(ctx, host); err != nil || written {
		return ctrl.Result{}, err
	}
	unresolved, written, err := r.resolveOS(ctx, host)
	if err != nil || written {
		return ctrl.Result{}, err
	}
	until, err := r.deletionWait(ctx, host, cluster)
	if err != nil {
		return ctrl.Result{}, err
	}
	if written, err := r.writeMarks(ctx, host, until); err != nil || written {
		// The conditions follow when the cache has seen the marks.
		return ctrl.Result{}, err
	}
	result := ctrl.Result{RequeueAfter: until.after}
	if unresolved != nil {
		result = util.LowestNonZeroResult(result, ctrl.Result{RequeueAfter: managedos.Retry})
	}
	again, err := r.writeConditions(ctx, host, until, unresolved)
	return util.LowestNonZeroResult(result, ctrl.Result{RequeueAfter: again}), err
}

// cluster is the Cluster that the host belongs to, and nil if there is none.
func (r *Reconciler) cluster(ctx context.Context, host *infrav1.ElementalHost) (*clusterv1.Cluster, error) {
	name := host.Labels[clusterv1.ClusterNameLabel]
	if name == "" {
		return nil, nil
	}
	cluster := &clusterv1.Cluster{}
	err := r.Client.Get(ctx, client.ObjectKey{Namespace: host.Namespace, Name: name}, cluster)
	if client.IgnoreNotFound(err) != nil {
		return nil, fmt.Errorf("reading Cluster %s: %w", name, err)
	}
	if err != nil {
		return nil, nil
	}
	return cluster, nil
}

// writeMarks writes labels, annotation and finalizer in one patch, and only if the host is as it was
// read: a trigger that was set in between must not be taken for the one that has been carried out. It
// reports whether there was anything to write.
func (r *Reconciler) writeMarks(ctx context.Context, host *infrav1.ElementalHost, until deletionWait) (written bool, err error) {
	before := host.DeepCopy()
	mark(host, until)
	if equality.Semantic.DeepEqual(before.ObjectMeta, host.ObjectMeta) {
		return false, nil
	}
	ctrl.LoggerFrom(ctx).V(2).Info("Writing labels and annotations", "ElementalHost", klog.KObj(host))
	err = r.Client.Patch(ctx, host, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{}))
	if client.IgnoreNotFound(err) != nil {
		return false, fmt.Errorf("writing labels of ElementalHost %s: %w", host.Name, err)
	}
	if err == nil {
		r.announceMarks(before, host)
	}
	return true, nil
}

// writeConditions writes the conditions, if one has changed, and returns when the next may change by itself. Nobody else writes them; the rest of the status is
// the Elemental API's, which leaves the conditions alone. While the host is asked for an attempt, which is no change of what it is to be, they are
// not written only because its spec has another generation: they catch up when the attempt is withdrawn, at the latest.
func (r *Reconciler) writeConditions(
	ctx context.Context, host *infrav1.ElementalHost, until deletionWait, unresolved *managedos.Problem,
) (again time.Duration, err error) {
	before := host.DeepCopy()
	again = r.reportSilence(host)
	last, err := r.lastAttempt(ctx, host)
	if err != nil {
		return 0, err
	}
	if err := observe(host, until, unresolved, last); err != nil {
		return 0, err
	}
	if host.Spec.Upgrade != nil && sayTheSame(before.Status, host.Status) {
		return again, nil
	}
	err = mergepatch.Store(ctx, r.Client, before, host)
	if client.IgnoreNotFound(err) != nil {
		return 0, fmt.Errorf("writing conditions of ElementalHost %s: %w", host.Name, err)
	}
	if err == nil {
		r.announceConditions(before, host)
	}
	return again, nil
}
