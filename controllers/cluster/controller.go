// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"errors"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	kerrors "k8s.io/apimachinery/pkg/util/errors"
	"k8s.io/client-go/tools/events"
	"k8s.io/klog/v2"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util"
	"sigs.k8s.io/cluster-api/util/annotations"
	"sigs.k8s.io/cluster-api/util/conditions"
	capicontroller "sigs.k8s.io/cluster-api/util/controller"
	"sigs.k8s.io/cluster-api/util/labels"
	"sigs.k8s.io/cluster-api/util/patch"
	"sigs.k8s.io/cluster-api/util/paused"
	"sigs.k8s.io/cluster-api/util/predicates"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/clusterview"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/condition"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/owner"
	watching "github.com/rancher-sandbox/cluster-api-provider-elemental/internal/predicates"
)

// +kubebuilder:rbac:groups=infrastructure.cluster.x-k8s.io,resources=elementalclusters,verbs=get;list;watch;patch
// +kubebuilder:rbac:groups=infrastructure.cluster.x-k8s.io,resources=elementalclusters/status,verbs=patch
// +kubebuilder:rbac:groups=cluster.x-k8s.io,resources=clusters,verbs=get;list;watch

// +kubebuilder:rbac:groups="",resources=secrets,verbs=get;list;watch
// +kubebuilder:rbac:groups=events.k8s.io,resources=events,verbs=create;patch

// +kubebuilder:rbac:groups=infrastructure.cluster.x-k8s.io,resources=elementalmachines;elementalhosts;elementalhostupgrades;elementalmachinetemplates;elementalrollouts,verbs=get;list;watch
// +kubebuilder:rbac:groups=cluster.x-k8s.io,resources=machines;machinesets;machinedeployments,verbs=get;list;watch
// +kubebuilder:rbac:groups=controlplane.cluster.x-k8s.io,resources=kubeadmcontrolplanes,verbs=get;list;watch

// beforePause precedes, in the status line of a cluster that is paused, what it said before.
const beforePause = "; before: "

const (
	controllerName = "elementalcluster"
	infraKind      = "ElementalCluster"
)

// Reconciler reconciles ElementalClusters.
type Reconciler struct {
	// Client reads from the manager's cache and writes.
	Client client.Client
	// Kubeconfigs reads the Secrets with the kubeconfigs of workload clusters, from a cache of the manager; see package
	// kubeconfig.
	Kubeconfigs client.Reader
	// Recorder of events.
	Recorder events.EventRecorder
	// WatchFilterValue is the value of the label cluster.x-k8s.io/watch-filter that ElementalClusters have
	// to carry. Empty: all of them.
	WatchFilterValue string
}

// SetupWithManager adds the controller to a manager.
func (r *Reconciler) SetupWithManager(ctx context.Context, mgr ctrl.Manager, options controller.Options) error {
	log := mgr.GetLogger().WithValues("controller", controllerName)
	kind := infrav1.GroupVersion.WithKind(infraKind)
	toCluster, toLine := handler.EnqueueRequestsFromMapFunc(r.memberToCluster), watching.AfterMoment(r.memberToCluster)
	made, err := capicontroller.NewControllerManagedBy(mgr, log).
		Named(controllerName).
		For(&infrav1.ElementalCluster{}, builder.WithPredicates(
			predicates.ResourceHasFilterLabel(mgr.GetScheme(), log, r.WatchFilterValue),
			predicates.ResourceIsNotExternallyManaged(mgr.GetScheme(), log),
			predicate.Or(predicate.GenerationChangedPredicate{}, predicate.LabelChangedPredicate{},
				predicate.AnnotationChangedPredicate{}, ownersChanged(), pausedChanged()))).
		WithOptions(options).
		Watches(&clusterv1.Cluster{},
			handler.EnqueueRequestsFromMapFunc(util.ClusterToInfrastructureMapFunc(ctx, kind, mgr.GetClient(), &infrav1.ElementalCluster{})),
			clusterChanged()).
		Watches(&infrav1.ElementalMachine{}, toLine, lineChanged()).
		Watches(&infrav1.ElementalHost{}, toLine, lineChanged()).
		Watches(&infrav1.ElementalHost{}, watching.AfterMoment(r.clustersInDomain), domainChanged()).
		Watches(&infrav1.ElementalHostUpgrade{}, toLine, lineChanged()).
		Watches(&infrav1.ElementalRollout{}, toLine, lineChanged()).
		Watches(&clusterv1.Machine{}, toLine, lineChanged()).
		Watches(&clusterv1.MachineDeployment{}, toLine, lineChanged()).
		Watches(&corev1.Secret{}, toCluster, isKubeconfig()).
		Watches(&infrav1.ElementalMachineTemplate{}, watching.AfterMoment(r.clustersNear), lineChanged()).
		Build(ctx, r)
	if err != nil {
		return fmt.Errorf("building controller %s: %w", controllerName, err)
	}
	// Cluster API gives one the label of its Cluster, by which it is mapped, some time after it was made.
	return owner.WatchControlPlanes(mgr, made, toCluster,
		predicate.Or(predicate.GenerationChangedPredicate{}, predicate.LabelChangedPredicate{}))
}

// Reconcile brings one ElementalCluster nearer to what its spec asks for.
func (r *Reconciler) Reconcile(ctx context.Context, request ctrl.Request) (_ ctrl.Result, reterr error) {
	object := &infrav1.ElementalCluster{}
	if err := r.Client.Get(ctx, request.NamespacedName, object); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if r.skip(object) {
		return ctrl.Result{}, nil
	}
	owner, err := r.owner(ctx, object)
	if err != nil {
		return ctrl.Result{}, err
	}
	if owner != nil {
		ctx = ctrl.LoggerInto(ctx, ctrl.LoggerFrom(ctx).WithValues("Cluster", klog.KObj(owner)))
	}
	switch isPaused, requeue, err := paused.EnsurePausedCondition(ctx, r.Client, owner, object); {
	case err != nil || requeue:
		return ctrl.Result{}, err
	case isPaused:
		return ctrl.Result{}, r.pauseLine(ctx, object, owner)
	}
	// Nothing outside of the object depends on it: it needs no finalizer.
	if !object.DeletionTimestamp.IsZero() {
		return ctrl.Result{}, nil
	}
	helper, err := patch.NewHelper(object, r.Client)
	if err != nil {
		return ctrl.Result{}, fmt.Errorf("preparing the patch: %w", err)
	}
	defer func() {
		if err := writeBack(ctx, helper, object); err != nil {
			reterr = kerrors.NewAggregate([]error{reterr, err})
		}
	}()
	observe(object, owner)
	return ctrl.Result{}, errors.Join(r.observeKubeconfig(ctx, object, owner), r.observeDomains(ctx, object, owner), r.observeMembers(ctx, object, owner))
}

// observeMembers looks at the Machines of the Cluster, and at what is done to them.
func (r *Reconciler) observeMembers(ctx context.Context, object *infrav1.ElementalCluster, owner *clusterv1.Cluster) error {
	if owner == nil {
		return nil
	}
	view := clusterview.New(r.Client, client.ObjectKeyFromObject(owner))
	return errors.Join(r.observeLine(ctx, object, view), r.observePauseNodes(ctx, object, view))
}

// observeLine keeps the status line of the cluster's nodes.
func (r *Reconciler) observeLine(ctx context.Context, object *infrav1.ElementalCluster, view *clusterview.View) error {
	nodes, err := r.observeNodes(ctx, view)
	if err != nil {
		return err
	}
	conditions.Set(object, statusLine(nodes))
	return nil
}

// pauseLine keeps what the status line said before a pause, and says so: nodes are not counted meanwhile. Only a Cluster that is paused stops their upgrades.
func (r *Reconciler) pauseLine(ctx context.Context, object *infrav1.ElementalCluster, owner *clusterv1.Cluster) error {
	says := "not counted while the ElementalCluster is paused"
	if owner != nil && ptr.Deref(owner.Spec.Paused, false) {
		says = "paused, nothing is upgraded"
	}
	switch line := conditions.Get(object, infrav1.NodesUpToDateCondition); {
	case line == nil:
	case line.Reason != clusterv1.PausedReason:
		says += beforePause + line.Message
	case strings.HasPrefix(line.Message, says):
		return nil
	default:
		if _, before, found := strings.Cut(line.Message, beforePause); found {
			says += beforePause + before
		}
	}
	helper, err := patch.NewHelper(object, r.Client)
	if err != nil {
		return fmt.Errorf("preparing the patch: %w", err)
	}
	condition.Unknown(object, infrav1.NodesUpToDateCondition, clusterv1.PausedReason, "%s", says)
	err = helper.Patch(ctx, object, patch.WithOwnedConditions{Conditions: []string{infrav1.NodesUpToDateCondition}})
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("writing the status line of ElementalCluster %s: %w", object.Name, err)
	}
	return nil
}

// skip leaves alone what another manager, or another tool, looks after. The predicates say the same, but
// not of requests that come from a Cluster.
func (r *Reconciler) skip(object *infrav1.ElementalCluster) bool {
	return annotations.IsExternallyManaged(object) ||
		(r.WatchFilterValue != "" && !labels.HasWatchLabel(object, r.WatchFilterValue))
}

// owner is the Cluster that owns the object, and nil while there is none.
func (r *Reconciler) owner(ctx context.Context, object *infrav1.ElementalCluster) (*clusterv1.Cluster, error) {
	owner, err := util.GetOwnerCluster(ctx, r.Client, object.ObjectMeta)
	if client.IgnoreNotFound(err) != nil {
		return nil, fmt.Errorf("reading the owning Cluster: %w", err)
	}
	if err != nil {
		return nil, nil
	}
	return owner, nil
}

func observe(object *infrav1.ElementalCluster, cluster *clusterv1.Cluster) {
	if cluster == nil {
		condition.False(object, infrav1.CAPIClusterReadyCondition, infrav1.MissingClusterOwnerReason,
			"Waiting for a Cluster to own the ElementalCluster")
	} else {
		condition.True(object, infrav1.CAPIClusterReadyCondition)
	}
	// Whoever else knows the endpoint, a control plane provider or the user, writes it into the Cluster.
	known := object.Spec.ControlPlaneEndpoint.IsValid() || cluster != nil && cluster.Spec.ControlPlaneEndpoint.IsValid()
	if !known {
		condition.False(object, infrav1.ControlPlaneEndpointReadyCondition, infrav1.MissingControlPlaneEndpointReason,
			"Set spec.controlPlaneEndpoint.host and .port to the address of the cluster's API server")
	} else {
		condition.True(object, infrav1.ControlPlaneEndpointReadyCondition)
	}
	if cluster != nil && known {
		object.Status.Initialization.Provisioned = ptr.To(true)
	}
}

func writeBack(ctx context.Context, helper *patch.Helper, object *infrav1.ElementalCluster) error {
	summarized := conditions.ForConditionTypes{
		infrav1.CAPIClusterReadyCondition, infrav1.ControlPlaneEndpointReadyCondition, infrav1.KubeconfigUsableCondition,
	}
	// There is no kubeconfig before there is a control plane.
	if err := condition.Summarize(object, condition.DefaultReason, summarized, conditions.IgnoreTypesIfMissing{infrav1.KubeconfigUsableCondition}, nil); err != nil {
		return err
	}
	owned := append([]string{clusterv1.ReadyCondition, clusterv1.PausedCondition, infrav1.NodesUpToDateCondition, infrav1.PauseNodesKnownCondition}, summarized...)
	if err := helper.Patch(ctx, object, patch.WithOwnedConditions{Conditions: owned}); err != nil {
		return fmt.Errorf("writing ElementalCluster %s: %w", object.Name, err)
	}
	return nil
}
