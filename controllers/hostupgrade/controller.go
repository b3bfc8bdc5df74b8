// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package hostupgrade

import (
	"cmp"
	"context"
	"fmt"
	"time"

	kerrors "k8s.io/apimachinery/pkg/util/errors"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/controllers/clustercache"
	"sigs.k8s.io/cluster-api/util/annotations"
	"sigs.k8s.io/cluster-api/util/conditions"
	"sigs.k8s.io/cluster-api/util/paused"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/source"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/attempts"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/existing"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/mergepatch"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/moved"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/observed"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/preflight"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/sequence"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/workload"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/workload/drainwatch"
)

// +kubebuilder:rbac:groups=infrastructure.cluster.x-k8s.io,resources=elementalhostupgrades,verbs=get;list;watch;patch;delete
// +kubebuilder:rbac:groups=infrastructure.cluster.x-k8s.io,resources=elementalhostupgrades/status,verbs=patch
// +kubebuilder:rbac:groups=infrastructure.cluster.x-k8s.io,resources=elementalhosts,verbs=get;list;watch;patch
// +kubebuilder:rbac:groups=infrastructure.cluster.x-k8s.io,resources=elementalclusters;elementalrollouts,verbs=get;list;watch;patch
// +kubebuilder:rbac:groups=infrastructure.cluster.x-k8s.io,resources=elementalmachinetemplates,verbs=get;list;watch
// +kubebuilder:rbac:groups=infrastructure.cluster.x-k8s.io,resources=elementalclusters/status,verbs=patch
// +kubebuilder:rbac:groups=infrastructure.cluster.x-k8s.io,resources=elementalclusterupgrades,verbs=get;list;watch
// +kubebuilder:rbac:groups=cluster.x-k8s.io,resources=machines,verbs=get;list;watch;patch
// +kubebuilder:rbac:groups=cluster.x-k8s.io,resources=clusters;machinesets;machinedeployments;machinedrainrules,verbs=get;list;watch
// +kubebuilder:rbac:groups="",resources=secrets,verbs=get;list;watch
// +kubebuilder:rbac:groups=events.k8s.io,resources=events,verbs=create;patch

// DefaultSoak is how long a node has to be Ready after its upgrade before it counts as good.
const DefaultSoak = 10 * time.Second

// ClusterSource wakes what a Cluster is mapped to when its connection changes, and watches what is in the cluster;
// Cluster API's ClusterCache does.
type ClusterSource interface {
	Watch(ctx context.Context, cluster client.ObjectKey, watcher clustercache.Watcher) error
	GetClusterSource(controllerName string, mapFunc func(context.Context, client.Object) []ctrl.Request,
		opts ...clustercache.GetClusterSourceOption) source.Source
}

// Reconciler reconciles ElementalHostUpgrades.
type Reconciler struct {
	// Client reads from the manager's cache and writes.
	Client client.Client
	// APIReader reads live. What an attempt marks is read live, because a mark that a stale read does not
	// show is never taken back; so is the attempt, because one that has ended must not start again. One that waits for others is an exception, see stillWaits.
	APIReader client.Reader
	// Workload opens workload clusters.
	Workload workload.Connector
	// Drains has the metadata of Rancher's plan secrets. It is needed only for attempts on Machines whose Nodes Rancher drains.
	Drains cache.Cache
	// Clusters tells of workload clusters that were connected, or were lost. Without it the attempts whose cluster is not
	// connected, as none is when the manager starts, look again after a while. Default: nobody tells.
	Clusters ClusterSource
	// Owners tells what the owner of a Machine wants.
	Owners Owners
	// Namespaces tells which have opted in: in one that has not any more no slot is taken, and no host triggered.
	Namespaces Namespaces
	// Started is when the manager was started: what hosts did before they may not have reported yet. Default: long ago.
	Started time.Time
	// Self is the Pod that the manager runs in. Default: none, and no message says that it is on the Node that reboots.
	Self workload.Self
	// Recorder of events.
	Recorder events.EventRecorder
	// Clock is the time.
	Clock clock.PassiveClock
	// Soak is how long a node has to be Ready before it counts as good. Default DefaultSoak.
	Soak time.Duration
	// WatchFilter limits the controller to objects with that value of Cluster API's watch-filter label.
	WatchFilter string

	// snapshots are what the preflight checks look at.
	snapshots preflight.Reader
	// observed is what was seen of Nodes, whose times are by the clocks of others.
	observed observed.Changes
	// fetches bounds how many hosts are asked to fetch an image at a time.
	fetches fetches
	// limit keeps the attempts of one workload cluster from taking all workers.
	limit *workload.Limit
	// drains watch what is on the Nodes that are drained.
	drains drainwatch.Watches
	// controller is what the Nodes of workload clusters wake.
	controller controller.Controller
}

// Reconcile brings an attempt one step further.
func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	cached, err := r.unlessHistory(ctx, req)
	if err != nil {
		return ctrl.Result{}, err
	}
	if cached == nil {
		r.drains.Keep(req)
		return ctrl.Result{}, nil
	}
	done, after := r.permit(cached)
	if done == nil {
		return ctrl.Result{RequeueAfter: after}, nil
	}
	defer done()
	if result, waits := r.stillWaits(ctx, cached); waits {
		return result, nil
	}
	upgrade, err := existing.Get(ctx, r.APIReader, &infrav1.ElementalHostUpgrade{}, req.Namespace, req.Name)
	if err != nil {
		return ctrl.Result{}, err
	}
	if upgrade == nil || moved.Away(upgrade) {
		r.drains.Keep(req)
		return ctrl.Result{}, nil
	}
	return r.reconcile(ctx, upgrade)
}

// permit lets attempts go first whose nodes are being disrupted: a node that is cordoned does not wait for those that only
// look whether they may.
func (r *Reconciler) permit(attempt *infrav1.ElementalHostUpgrade) (done func(), after time.Duration) {
	cluster := client.ObjectKey{Namespace: attempt.Namespace, Name: attempt.Spec.ClusterName}
	if attempts.HasEntered(attempt, stepCordon) && !isEnded(attempt.Status.Phase) || !attempt.DeletionTimestamp.IsZero() {
		return r.limit.Begin(cluster, client.ObjectKeyFromObject(attempt))
	}
	return r.limit.BeginLast(cluster, client.ObjectKeyFromObject(attempt))
}

// reconcile observes the attempt, does what its state asks for, and stores it.
func (r *Reconciler) reconcile(ctx context.Context, upgrade *infrav1.ElementalHostUpgrade) (_ ctrl.Result, reterr error) {
	ctx = ctrl.LoggerInto(ctx, ctrl.LoggerFrom(ctx).WithValues("attempt", attemptOf(upgrade)))
	if stored, err := r.storeMarks(ctx, upgrade); err != nil || stored {
		return ctrl.Result{}, err
	}
	o, err := r.observe(ctx, upgrade)
	if err != nil {
		return ctrl.Result{}, err
	}
	defer func() {
		// A reconcile that failed may not have come to the steps that watch.
		if reterr == nil {
			r.drains.Keep(o.reconcileRequest(), o.watched...)
		}
	}()
	isPaused, requeue, err := r.paused(ctx, o)
	if err != nil || requeue && !isPaused {
		return ctrl.Result{}, err
	}
	before := upgrade.DeepCopy()
	if isPaused {
		o.recordPause()
		return ctrl.Result{}, client.IgnoreNotFound(mergepatch.Store(ctx, r.Client, before, upgrade))
	}
	defer func() {
		o.recordProgress()
		if err := mergepatch.Store(ctx, r.Client, before, upgrade); client.IgnoreNotFound(err) != nil {
			reterr = kerrors.NewAggregate([]error{reterr, fmt.Errorf("writing ElementalHostUpgrade %s: %w", upgrade.Name, err)})
			return
		}
		count(before, upgrade)
	}()
	return r.advance(ctx, o)
}

// advance does what the state of the object asks for.
func (r *Reconciler) advance(ctx context.Context, o *observation) (ctrl.Result, error) {
	o.recordReturn()
	o.recordChecks()
	if !o.upgrade.DeletionTimestamp.IsZero() {
		return r.reconcileDelete(ctx, o)
	}
	o.recordUnpaused()
	return r.reconcileNormal(ctx, o)
}

// storeMarks writes what an attempt has to have before it leaves any mark: the finalizer that takes the marks back, and the id that is in them. It reports
// whether that was missing; storing it wakes the controller again. An attempt that is paused, or deleted, gets none.
func (r *Reconciler) storeMarks(ctx context.Context, upgrade *infrav1.ElementalHostUpgrade) (stored bool, err error) {
	if !upgrade.DeletionTimestamp.IsZero() || !ensureMarks(upgrade.DeepCopy()) {
		return false, nil
	}
	cluster, err := existing.Get(ctx, r.Client, &clusterv1.Cluster{}, upgrade.Namespace, upgrade.Spec.ClusterName)
	if err != nil || annotations.IsPaused(cmp.Or(cluster, &clusterv1.Cluster{}), upgrade) {
		return false, err
	}
	before := upgrade.DeepCopy()
	ensureMarks(upgrade)
	if err := mergepatch.Store(ctx, r.Client, before, upgrade); client.IgnoreNotFound(err) != nil {
		return false, fmt.Errorf("marking ElementalHostUpgrade %s: %w", upgrade.Name, err)
	}
	return true, nil
}

// ensureMarks puts on an attempt what it has to have before it leaves any mark, and reports whether it was missing.
func ensureMarks(upgrade *infrav1.ElementalHostUpgrade) bool {
	added := controllerutil.AddFinalizer(upgrade, infrav1.ElementalHostUpgradeFinalizer)
	return annotations.AddAnnotations(upgrade, map[string]string{
		infrav1.AttemptAnnotation: attemptOf(upgrade), infrav1.CreatedAnnotation: upgrade.CreatedAt().UTC().Format(time.RFC3339),
	}) || added
}

// paused keeps the Paused condition and reports whether to stop here. A Cluster that is gone pauses nothing. That an attempt is not paused
// which has not been looked at yet is written with the first that it reports, see recordUnpaused.
func (r *Reconciler) paused(ctx context.Context, o *observation) (isPaused, requeue bool, err error) {
	cluster := o.cluster
	if cluster == nil {
		cluster = &clusterv1.Cluster{}
	}
	if !conditions.Has(o.upgrade, clusterv1.PausedCondition) && !annotations.IsPaused(cluster, o.upgrade) {
		return false, false, nil
	}
	isPaused, requeue, err = paused.EnsurePausedCondition(ctx, r.Client, cluster, o.upgrade)
	if err == nil && isPaused {
		err = r.letMove(ctx, o)
	}
	return isPaused, requeue, err
}

// reconcileDelete undoes what the attempt has marked and lets it go. What the host has begun is brought
// to its end first; after the reboot there is nothing left to take back.
func (r *Reconciler) reconcileDelete(ctx context.Context, o *observation) (ctrl.Result, error) {
	if o.mustFinish() && !o.machineLeaves() && !isEnded(o.upgrade.Status.Phase) && !o.isGivenUp() {
		result, err := r.reconcileNormal(ctx, o)
		if err != nil || !isEnded(o.upgrade.Status.Phase) {
			return result, err
		}
	}
	report, err := sequence.Run(ctx, r.ending(infrav1.UpgradeAborted), 0, o)
	if err != nil {
		o.keepHolds(sequence.Report{})
		return ctrl.Result{}, err
	}
	if !report.Completed() {
		if report.Result.Message == "" {
			o.recordHolds(nil)
		} else {
			r.recordWait(o, sequence.Report{Result: report.Result}, report.Result.Message+" (being deleted)")
		}
		return ctrl.Result{RequeueAfter: report.Result.After}, nil
	}
	// What the host began has ended by now; the steps above leave the attempt on it as evidence.
	if err := r.withdraw(ctx, o); err != nil {
		return ctrl.Result{}, err
	}
	controllerutil.RemoveFinalizer(o.upgrade, infrav1.ElementalHostUpgradeFinalizer)
	return ctrl.Result{}, nil
}

// letMove lets "clusterctl move" go on, which pauses the Cluster and then waits. It has to wait for one thing: a host that
// has been told to go, until it has said how that ended. Everything else of an attempt is found again by looking, on the
// cluster it was moved to.
// Source: clusterctl provider contract, "Move".
func (r *Reconciler) letMove(ctx context.Context, o *observation) error {
	if o.host == nil || o.rival != nil || o.labelled() && !o.isVoid() && !isHostEnd(o.hostReport().Phase) {
		return nil
	}
	hasEnded := o.labelled() && isHostEnd(o.hostReport().Phase)
	return r.patchHost(ctx, o, "letting clusterctl move", func(host *infrav1.ElementalHost) {
		delete(host.Annotations, infrav1.BlockMoveAnnotation)
		if hasEnded { // a move loses the report, and the attempt would count as triggered until the host reports again
			removeTrigger(host)
		}
	})
}
