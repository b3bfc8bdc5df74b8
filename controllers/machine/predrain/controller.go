// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package predrain

import (
	"context"
	"errors"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/controllers/clustercache"
	"sigs.k8s.io/cluster-api/util/annotations"
	"sigs.k8s.io/cluster-api/util/labels"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/association"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/existing"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/observed"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/workload"
)

// +kubebuilder:rbac:groups=infrastructure.cluster.x-k8s.io,resources=elementalclusters;elementalmachines,verbs=get;list;watch
// +kubebuilder:rbac:groups=infrastructure.cluster.x-k8s.io,resources=elementalmachines/status,verbs=patch
// +kubebuilder:rbac:groups=cluster.x-k8s.io,resources=clusters,verbs=get;list;watch
// +kubebuilder:rbac:groups=cluster.x-k8s.io,resources=machines,verbs=get;list;watch;patch
// +kubebuilder:rbac:groups=events.k8s.io,resources=events,verbs=create;patch

// Times after which the controller looks again.
const (
	// lookAgain is for what runs virtual machines, which may be uninstalled, or installed again, which is no event.
	lookAgain = 10 * time.Minute
	// pollCluster is for a workload cluster that does not answer.
	pollCluster = 5 * time.Second
	// crowded is for other Machines of the same cluster, each of which is looked at in less than that, unless the workload
	// cluster is slow to answer.
	crowded = time.Second
)

// Reconciler keeps the hooks of Machines.
type Reconciler struct {
	// Client reads from the manager's cache and writes.
	Client client.Client
	// Workload opens workload clusters.
	Workload workload.Connector
	// Clusters tell of workload clusters that were connected, and watch their Nodes.
	Clusters clustercache.ClusterCache
	// Recorder of events.
	Recorder events.EventRecorder
	// Clock is the time.
	Clock clock.PassiveClock
	// WatchFilterValue is the value of Cluster API's watch-filter label that ElementalMachines have to carry. Empty: all
	// of them.
	WatchFilterValue string

	// controller is what the Nodes of workload clusters wake. Nil: they wake nobody.
	controller controller.Controller
	// limit keeps the Machines of one workload cluster from taking all workers.
	limit *workload.Limit
	// observed is what was seen of objects that others have written, by the clocks of others.
	observed observed.Changes
}

// deletionOf is the key of when the deletion of a Machine was seen.
type deletionOf struct{ uid types.UID }

// scope is what one reconcile is about. What does not exist is nil.
type scope struct {
	machine *clusterv1.Machine
	own     *infrav1.ElementalMachine
	cluster *clusterv1.Cluster
	options infrav1.NodeUpgradeOption
	// deletedFor is for how long the Machine has been about to be deleted.
	deletedFor time.Duration
	// workload is nil while the workload cluster cannot be reached, and node with it. unreached is the cause where there
	// is a connection: that it answers again is no event.
	workload  *workload.Cluster
	node      *corev1.Node
	unreached error
}

// Reconcile puts the hook on a Machine, or does what it is for.
func (r *Reconciler) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	s := &scope{machine: &clusterv1.Machine{}}
	if err := r.Client.Get(ctx, request.NamespacedName, s.machine); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if !association.NamesElementalMachine(s.machine.Spec.InfrastructureRef) || !s.machine.DeletionTimestamp.IsZero() && !hasHook(s.machine) {
		return ctrl.Result{}, nil
	}
	done, after := r.permit(s.machine)
	if done == nil {
		return ctrl.Result{RequeueAfter: after}, nil
	}
	defer done()
	return r.reconcile(ctx, s)
}

// permit lets Machines go first that are being deleted: their nodes are drained next.
func (r *Reconciler) permit(machine *clusterv1.Machine) (done func(), after time.Duration) {
	cluster := client.ObjectKey{Namespace: machine.Namespace, Name: machine.Spec.ClusterName}
	if machine.DeletionTimestamp.IsZero() {
		return r.limit.BeginLast(cluster, client.ObjectKeyFromObject(machine))
	}
	return r.limit.Begin(cluster, client.ObjectKeyFromObject(machine))
}

func (r *Reconciler) reconcile(ctx context.Context, s *scope) (ctrl.Result, error) {
	if err := r.observe(ctx, s); err != nil {
		return ctrl.Result{}, err
	}
	if r.isOfAnotherManager(s) || s.cluster != nil && annotations.IsPaused(s.cluster, s.machine) {
		return ctrl.Result{}, nil
	}
	if s.machine.DeletionTimestamp.IsZero() {
		return r.guard(ctx, s)
	}
	s.deletedFor = r.observed.Age(deletionOf{s.machine.UID}, s.machine.DeletionTimestamp.Time, r.Clock.Now())
	return r.leave(ctx, s)
}

// isOfAnotherManager reports whether another manager looks after the Machine. A hook whose ElementalMachine has gone is
// everybody's.
func (r *Reconciler) isOfAnotherManager(s *scope) bool {
	return s.own != nil && r.WatchFilterValue != "" && !labels.HasWatchLabel(s.own, r.WatchFilterValue)
}

func (r *Reconciler) observe(ctx context.Context, s *scope) error {
	var err error
	if s.own, err = existing.Get(ctx, r.Client, &infrav1.ElementalMachine{}, s.machine.Namespace, s.machine.Spec.InfrastructureRef.Name); err != nil {
		return err
	}
	if s.cluster, err = existing.Get(ctx, r.Client, &clusterv1.Cluster{}, s.machine.Namespace, s.machine.Spec.ClusterName); err != nil || s.cluster == nil {
		return err
	}
	elemental, err := existing.Get(ctx, r.Client, &infrav1.ElementalCluster{}, s.machine.Namespace, s.cluster.Spec.InfrastructureRef.Name)
	if err != nil {
		return err
	}
	if elemental != nil {
		s.options = elemental.Spec.NodeUpgradeOption
	}
	s.options = s.options.WithDefaults()
	return r.observeNode(ctx, s)
}

// observeNode reads the Node live: nobody's virtual machines are to be stopped on a stale read.
func (r *Reconciler) observeNode(ctx context.Context, s *scope) error {
	if !s.machine.Status.NodeRef.IsDefined() || !s.cluster.DeletionTimestamp.IsZero() {
		return nil
	}
	cluster, err := r.Workload.Connect(ctx, client.ObjectKeyFromObject(s.cluster))
	if errors.Is(err, workload.ErrUnreachable) {
		return nil
	}
	if err != nil {
		return err
	}
	node, err := cluster.Node(ctx, s.machine.Status.NodeRef.Name)
	if err != nil {
		s.unreached = err // waited for like a missing connection
		return nil
	}
	s.workload, s.node = cluster, node
	return nil
}
