// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package machine

import (
	"context"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kerrors "k8s.io/apimachinery/pkg/util/errors"
	"k8s.io/client-go/tools/events"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/controllers/clustercache"
	"sigs.k8s.io/cluster-api/util"
	"sigs.k8s.io/cluster-api/util/conditions"
	capicontroller "sigs.k8s.io/cluster-api/util/controller"
	"sigs.k8s.io/cluster-api/util/labels"
	"sigs.k8s.io/cluster-api/util/patch"
	"sigs.k8s.io/cluster-api/util/paused"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/association"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/existing"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/managedos"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/moved"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/observed"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/osversion"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/owner"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/workload"
)

// +kubebuilder:rbac:groups=infrastructure.cluster.x-k8s.io,resources=elementalmachines,verbs=get;list;watch;patch
// +kubebuilder:rbac:groups=infrastructure.cluster.x-k8s.io,resources=elementalmachines/status,verbs=patch
// +kubebuilder:rbac:groups=infrastructure.cluster.x-k8s.io,resources=elementalhosts,verbs=get;list;watch;patch
// +kubebuilder:rbac:groups=infrastructure.cluster.x-k8s.io,resources=elementalmachinetemplates;elementalrollouts;elementalhostupgrades;elementalclusters,verbs=get;list;watch
// +kubebuilder:rbac:groups=infrastructure.cluster.x-k8s.io,resources=elementalregistrations,verbs=get;list;watch
// +kubebuilder:rbac:groups=cluster.x-k8s.io,resources=clusters,verbs=get;list;watch
// +kubebuilder:rbac:groups=cluster.x-k8s.io,resources=machines,verbs=get;list;watch;patch
// +kubebuilder:rbac:groups=events.k8s.io,resources=events,verbs=create;patch

// Reconciler reconciles ElementalMachines.
type Reconciler struct {
	// Client reads from the manager's cache and writes.
	Client client.Client
	// APIReader reads past the cache, where a claim or a release must not rest on a stale object.
	APIReader client.Reader
	// ClusterCache connects to workload clusters.
	ClusterCache clustercache.ClusterCache
	// Recorder of events. Default: the manager's.
	Recorder events.EventRecorder
	// Clock. Default: the real one.
	Clock clock.PassiveClock
	// WatchFilterValue is the value of the label cluster.x-k8s.io/watch-filter that ElementalMachines, and
	// the hosts they claim, have to carry. Empty: all of them.
	WatchFilterValue string

	controller capicontroller.Controller
	// limit keeps the machines of one workload cluster from taking all workers.
	limit *workload.Limit
	// observed is what was seen of objects that others have written, by the clocks of others.
	observed observed.Changes
}

// scope is what one reconcile is about.
type scope struct {
	// machine that is reconciled.
	machine *infrav1.ElementalMachine
	// owner is the Machine of the machine. Nil if there is none.
	owner *clusterv1.Machine
	// cluster the machine belongs to. Nil if there is none.
	cluster *clusterv1.Cluster
	// elementalCluster is the infrastructure of the cluster. Nil if there is none.
	elementalCluster *infrav1.ElementalCluster
	// host that serves the machine. Nil until one is found.
	host *infrav1.ElementalHost
	// attempts to upgrade the machine's host, as the cache has them.
	attempts []infrav1.ElementalHostUpgrade
	// unresolved is why the machine's OS is not known: its ManagedOSVersion has no image, or it cannot be decoded. Nil if it is known.
	unresolved *managedos.Problem
	// markRestored says that this reconcile has restored the mark of an update that was lost.
	markRestored bool
	// mark is condition UpdateMarkRestored as it was stored before. Where a mark was restored it is read live: one that is lost again at once is restored
	// again before the cache has what was said of it. Nil if there is none.
	mark *metav1.Condition
}

// Reconcile brings one ElementalMachine nearer to what its spec asks for.
func (r *Reconciler) Reconcile(ctx context.Context, request ctrl.Request) (_ ctrl.Result, reterr error) {
	machine := &infrav1.ElementalMachine{}
	if err := r.Client.Get(ctx, request.NamespacedName, machine); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if moved.Away(machine) || r.WatchFilterValue != "" && !labels.HasWatchLabel(machine, r.WatchFilterValue) {
		return ctrl.Result{}, nil
	}
	s, err := r.newScope(ctx, machine)
	if err != nil {
		return ctrl.Result{}, err
	}
	ctx = withValues(ctx, s)

	if ended, err := r.prepare(ctx, s); err != nil || ended {
		return ctrl.Result{}, err
	}

	helper, err := patch.NewHelper(machine, r.Client)
	if err != nil {
		return ctrl.Result{}, fmt.Errorf("preparing the patch: %w", err)
	}
	before := machine.DeepCopy()
	s.mark = conditions.Get(before, infrav1.UpdateMarkRestoredCondition)
	defer func() {
		if err := r.patch(ctx, helper, machine); err != nil {
			reterr = kerrors.NewAggregate([]error{reterr, err})
			return
		}
		r.recordDrift(before, machine)
		r.recordMark(s.mark, machine)
	}()

	if !machine.DeletionTimestamp.IsZero() {
		return r.reconcileDelete(ctx, s)
	}
	return r.reconcileNormal(ctx, s)
}

// prepare reports whether the machine is paused, and sees to its finalizer once it has an owner. The
// reconcile ends here if it is paused, or after a write, which brings the next one.
func (r *Reconciler) prepare(ctx context.Context, s *scope) (ended bool, err error) {
	isPaused, requeue, err := paused.EnsurePausedCondition(ctx, r.Client, s.cluster, s.machine)
	if err != nil || isPaused || requeue {
		return true, err
	}
	if s.owner == nil {
		return false, nil
	}
	return r.adopt(ctx, s.machine)
}

// adopt adds the finalizer to a machine and, in the same write, notes the OS that a new one was made with.
func (r *Reconciler) adopt(ctx context.Context, machine *infrav1.ElementalMachine) (ended bool, err error) {
	before := machine.DeepCopy()
	if !machine.DeletionTimestamp.IsZero() || !controllerutil.AddFinalizer(machine, infrav1.ElementalMachineFinalizer) {
		return false, nil
	}
	noteMade(machine)
	if err := r.Client.Patch(ctx, machine, client.MergeFrom(before)); err != nil {
		return true, fmt.Errorf("adding the finalizer to ElementalMachine %s: %w", machine.Name, err)
	}
	return true, nil
}

// noteMade notes the OS that a new machine was made with: a later change of its template is rolled out to it, also one that precedes its host. One that
// has a host was moved here, or made by hand: it is noted with the OS that its template has when it is first seen, so that nothing starts. A
// ManagedOSVersion is noted when it has been looked up.
func noteMade(machine *infrav1.ElementalMachine) {
	made, wanted := owner.MadeFrom(machine), machine.Spec.OSVersionManagement
	if made != "" && machine.Spec.HostRef == nil && !owner.IsNoted(machine) && osversion.Unresolved(wanted) == "" {
		owner.Note(machine, made, osversion.Hash(wanted), "")
	}
}

// newScope reads the machine's owners. An owner that is gone is nil: a machine under deletion has to go
// without it.
func (r *Reconciler) newScope(ctx context.Context, machine *infrav1.ElementalMachine) (*scope, error) {
	s := &scope{machine: machine}
	owner, err := util.GetOwnerMachine(ctx, r.Client, machine.ObjectMeta)
	if client.IgnoreNotFound(err) != nil {
		return nil, fmt.Errorf("reading the owning Machine: %w", err)
	}
	if err == nil {
		s.owner = owner
	}
	name := machine.Labels[clusterv1.ClusterNameLabel]
	if s.owner != nil {
		name = s.owner.Spec.ClusterName
	}
	if name == "" {
		return s, nil
	}
	cluster := &clusterv1.Cluster{}
	switch err := r.Client.Get(ctx, client.ObjectKey{Namespace: machine.Namespace, Name: name}, cluster); {
	case apierrors.IsNotFound(err):
	case err != nil:
		return nil, fmt.Errorf("reading Cluster %s: %w", name, err)
	default:
		s.cluster = cluster
	}
	if s.cluster == nil || s.cluster.Spec.InfrastructureRef.Name == "" {
		return s, nil
	}
	s.elementalCluster, err = existing.Get(ctx, r.Client, &infrav1.ElementalCluster{}, machine.Namespace, s.cluster.Spec.InfrastructureRef.Name)
	return s, err
}

func (r *Reconciler) claimer() *association.Claimer {
	return &association.Claimer{Client: r.Client, Live: r.APIReader, WatchFilterValue: r.WatchFilterValue}
}

// withValues adds what the reconcile is about to the log.
func withValues(ctx context.Context, s *scope) context.Context {
	log := ctrl.LoggerFrom(ctx)
	if s.owner != nil {
		log = log.WithValues("Machine", klog.KObj(s.owner))
	}
	if s.cluster != nil {
		log = log.WithValues("Cluster", klog.KObj(s.cluster))
	}
	return ctrl.LoggerInto(ctx, log)
}

// claimRetry is how soon a claim is tried again after others were faster.
const claimRetry = time.Second
