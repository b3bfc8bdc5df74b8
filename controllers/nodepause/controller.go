// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package nodepause

import (
	"context"
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/tools/events"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/controllers/clustercache"
	"sigs.k8s.io/cluster-api/util/annotations"
	"sigs.k8s.io/cluster-api/util/labels"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/association"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/workload"
)

// +kubebuilder:rbac:groups=infrastructure.cluster.x-k8s.io,resources=elementalclusters;elementalmachines;elementalmachinetemplates;elementalhosts;elementalhostupgrades;elementalrollouts,verbs=get;list;watch
// +kubebuilder:rbac:groups=infrastructure.cluster.x-k8s.io,resources=elementalclusters/status,verbs=patch
// +kubebuilder:rbac:groups=cluster.x-k8s.io,resources=clusters;machinesets;machinedeployments,verbs=get;list;watch
// +kubebuilder:rbac:groups=cluster.x-k8s.io,resources=machines,verbs=get;list;watch;patch
// +kubebuilder:rbac:groups=controlplane.cluster.x-k8s.io,resources=kubeadmcontrolplanes,verbs=get;list;watch
// +kubebuilder:rbac:groups=events.k8s.io,resources=events,verbs=create;patch

const controllerName = "nodepause"

// Reconciler keeps the pauses of the nodes of Clusters.
type Reconciler struct {
	// Client reads from the manager's cache and writes.
	Client client.Client
	// APIReader reads live: a node is not paused on a stale read, which may not show that a person has let it go on.
	APIReader client.Reader
	// Clusters watch the Nodes of workload clusters.
	Clusters clustercache.ClusterCache
	// Workload reads and writes the Nodes of workload clusters.
	Workload workload.Connector
	// Recorder of events.
	Recorder events.EventRecorder
	// WatchFilterValue is the value of Cluster API's watch-filter label that Clusters have to carry. Empty: all of them.
	WatchFilterValue string

	// controller is what the Nodes of workload clusters wake. It reconciles one Cluster once at a time, so that one which is
	// slow to answer keeps one worker.
	controller controller.Controller
}

// Reconcile makes the marks on the Nodes of one Cluster what they have to be.
func (r *Reconciler) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	cluster := &clusterv1.Cluster{}
	if err := r.Client.Get(ctx, request.NamespacedName, cluster); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if r.WatchFilterValue != "" && !labels.HasWatchLabel(cluster, r.WatchFilterValue) {
		return ctrl.Result{}, nil
	}
	elemental, err := r.infrastructure(ctx, cluster)
	if err != nil || elemental == nil || annotations.IsPaused(cluster, elemental) {
		return ctrl.Result{}, err
	}
	seen, err := r.observe(ctx, cluster, elemental)
	if err != nil {
		return ctrl.Result{}, err
	}
	err = errors.Join(r.settleNodes(ctx, seen), r.forgetApprovals(ctx, seen), r.reportUnknown(ctx, seen))
	if apierrors.IsConflict(err) {
		return ctrl.Result{RequeueAfter: conflictRetry}, nil
	}
	return ctrl.Result{}, err
}

// infrastructure of a Cluster; nil where it is not ours, or not there yet.
func (r *Reconciler) infrastructure(ctx context.Context, cluster *clusterv1.Cluster) (*infrav1.ElementalCluster, error) {
	ref := cluster.Spec.InfrastructureRef
	if !association.NamesElementalCluster(ref) {
		return nil, nil
	}
	elemental := &infrav1.ElementalCluster{}
	if err := r.Client.Get(ctx, client.ObjectKey{Namespace: cluster.Namespace, Name: ref.Name}, elemental); err != nil {
		if apierrors.IsNotFound(err) {
			return nil, nil
		}
		return nil, fmt.Errorf("reading ElementalCluster %s: %w", ref.Name, err)
	}
	return elemental, nil
}
