// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package machinetemplate

import (
	"context"
	"errors"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/tools/events"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util"
	"sigs.k8s.io/cluster-api/util/annotations"
	"sigs.k8s.io/cluster-api/util/labels"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/capiworkaround"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/direct"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/existing"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/inplace"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/managedos"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/mergepatch"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/observed"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/osversion"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/owner"
)

// blockedRetry is how often the preconditions for in-place updates are looked at again. Deployments and ExtensionConfigs are not watched for
// the few moments they matter.
const blockedRetry = 15 * time.Second

// +kubebuilder:rbac:groups=infrastructure.cluster.x-k8s.io,resources=elementalmachinetemplates,verbs=get;list;watch;patch
// +kubebuilder:rbac:groups=infrastructure.cluster.x-k8s.io,resources=elementalrollouts,verbs=get;list;watch;create;patch;delete
// +kubebuilder:rbac:groups=infrastructure.cluster.x-k8s.io,resources=elementalmachinetemplates/status,verbs=patch
// +kubebuilder:rbac:groups=infrastructure.cluster.x-k8s.io,resources=elementalmachines,verbs=get;list;watch;patch
// +kubebuilder:rbac:groups=infrastructure.cluster.x-k8s.io,resources=elementalclusters,verbs=get;list;watch;patch
// +kubebuilder:rbac:groups=cluster.x-k8s.io,resources=clusters;machinesets,verbs=get;list;watch
// +kubebuilder:rbac:groups=events.k8s.io,resources=events,verbs=create;patch

// Reconciler rolls out ElementalMachineTemplates.
type Reconciler struct {
	// Client reads from the cache and writes.
	Client client.Client
	// Live reads from the API server what is not watched, or must not be stale.
	Live client.Reader
	// Owners finds what refers to templates.
	Owners *owner.Owners
	// Recorder emits events.
	Recorder events.EventRecorder
	// WatchFilter is the value of Cluster API's watch-filter label; objects without it are left alone.
	// Empty: all objects are reconciled.
	WatchFilter string

	// worked is since when Cluster API brings no Machine of an owner to its template.
	worked observed.Changes
}

// Reconcile compares the content of a template with what the Machines that were made from it were brought to.
func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	template := &infrav1.ElementalMachineTemplate{}
	if err := r.Client.Get(ctx, req.NamespacedName, template); apierrors.IsNotFound(err) {
		return r.forget(ctx, req.NamespacedName)
	} else if err != nil {
		return ctrl.Result{}, fmt.Errorf("reading ElementalMachineTemplate %s: %w", req.Name, err)
	}
	if r.isOfAnotherManager(template) || !template.DeletionTimestamp.IsZero() {
		return ctrl.Result{}, nil
	}
	before := template.DeepCopy()
	if annotations.HasPaused(template) {
		reportPaused(template, r.Owners.Clock.Now())
		return ctrl.Result{}, r.patchStatus(ctx, before, template)
	}
	seen, result, err := r.rollOut(ctx, template)
	if seen == nil && err != nil {
		reportUnobserved(template)
	}
	err = errors.Join(err, r.reportHolds(ctx, template, seen, err), r.reportEstimate(ctx, template, seen))
	later, tellErr := r.topologies().Tell(ctx, template)
	return util.LowestNonZeroResult(result, ctrl.Result{RequeueAfter: later}), errors.Join(err, tellErr, r.patchStatus(ctx, before, template))
}

func (r *Reconciler) isOfAnotherManager(object client.Object) bool {
	return r.WatchFilter != "" && !labels.HasWatchLabel(object, r.WatchFilter)
}

// rollOut brings the Machines one step further. What was seen is nil where there was nothing to look at, or that has failed.
func (r *Reconciler) rollOut(ctx context.Context, template *infrav1.ElementalMachineTemplate) (*observation, ctrl.Result, error) {
	template.Status.ImageURI = osversion.Image(osversion.OfTemplate(template))
	resolved, err := r.resolve(ctx, template)
	switch {
	case err != nil:
		return nil, ctrl.Result{}, err
	case !resolved:
		return nil, ctrl.Result{RequeueAfter: managedos.Retry}, nil
	}
	seen, err := r.observe(ctx, template)
	if err != nil {
		return nil, ctrl.Result{}, err
	}
	err = errors.Join(r.drive(ctx, seen), r.beginRotations(ctx, seen))
	reportRolledOut(seen)
	result, watchErr := r.watchOver(ctx, seen) // what fails in one Cluster hides nothing of another
	return seen, result, errors.Join(err, watchErr)
}

// drive the upgrades of the Machines that were made from the template one step further.
func (r *Reconciler) drive(ctx context.Context, seen *observation) (err error) {
	driver := &direct.Driver{Client: r.Client, Live: r.Live, Namespaces: r.prover(), Recorder: r.Recorder, Clock: r.Owners.Clock}
	seen.result, err = driver.Reconcile(ctx, direct.Rollout{
		Template: seen.template, OS: osversion.OfTemplate(seen.template), Machines: seen.machines,
		Current: seen.current,
		Begin: func(ctx context.Context, cluster *clusterv1.Cluster) (*infrav1.ElementalRollout, error) {
			return r.begin(ctx, seen, cluster)
		},
	})
	seen.complete = err == nil
	return err
}

// watchOver the rollout: it reports what is in the way, also of owners whose Machines Cluster API brings to the template, and settles the records.
func (r *Reconciler) watchOver(ctx context.Context, seen *observation) (ctrl.Result, error) {
	problems, err := r.proveRotations(ctx, seen)
	if err != nil {
		return ctrl.Result{}, err
	}
	problems = append(problems, seen.result.Problems...)
	if len(problems) > 0 || seen.complete { // what could not be looked at may be in the way yet
		r.reportProblems(seen.template, problems)
	}
	err = r.settleRollouts(ctx, seen)
	result := ctrl.Result{RequeueAfter: seen.result.After}
	if len(problems)+len(seen.rotating) > 0 { // which of them are over is no event
		result = util.LowestNonZeroResult(result, ctrl.Result{RequeueAfter: blockedRetry})
	}
	return result, err
}

// proveRotations says what has the Machines replaced which Cluster API brings to the template: it may be changed while they are.
func (r *Reconciler) proveRotations(ctx context.Context, seen *observation) ([]inplace.Problem, error) {
	problems, moving := []inplace.Problem{}, []owner.Owner{}
	for _, of := range seen.rotating {
		cluster, err := existing.Get(ctx, r.Client, &clusterv1.Cluster{}, seen.template.Namespace, of.ClusterName(), client.UnsafeDisableDeepCopy)
		switch {
		case err != nil:
			return nil, err
		case cluster == nil:
			problems = append(problems, inplace.Problem{Reason: infrav1.WaitingForClusterReason,
				Message: fmt.Sprintf("%s waits for Cluster %s to exist", owner.Describe(of), of.ClusterName())})
		case annotations.IsPaused(cluster, of.Object()):
			problems = append(problems, inplace.Problem{Reason: infrav1.WaitingForClusterReason,
				Message: fmt.Sprintf("%s is paused, by itself or with Cluster %s", owner.Describe(of), cluster.Name)})
		default:
			moving = append(moving, of)
		}
	}
	if len(moving) == 0 {
		return problems, nil
	}
	found, err := r.prover().Prove(ctx, seen.template.Namespace, moving...)
	return append(problems, found...), err
}

func (r *Reconciler) prover() *inplace.Prover {
	return &inplace.Prover{Live: r.Live, Owners: r.Owners}
}

// patchStatus writes the status where it changed.
func (r *Reconciler) patchStatus(ctx context.Context, before, template *infrav1.ElementalMachineTemplate) error {
	changed := before.DeepCopy()
	changed.Status = template.Status
	if err := mergepatch.Store(ctx, r.Client, before, changed); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("patching the status of ElementalMachineTemplate %s: %w", template.Name, err)
	}
	return nil
}

func (r *Reconciler) topologies() capiworkaround.Topologies {
	return capiworkaround.Topologies{Client: r.Client, Live: r.Live, Clock: r.Owners.Clock}
}
