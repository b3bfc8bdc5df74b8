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
	"sigs.k8s.io/cluster-api/util"
	"sigs.k8s.io/cluster-api/util/annotations"
	"sigs.k8s.io/cluster-api/util/labels"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/capiworkaround"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/managedos"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/mergepatch"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/observed"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/owner"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/preflight/outlook"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/rollout"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/workload"
)

const (
	// quietRetry is how often a quiet point is looked for. Cluster API moves a Machine within seconds.
	quietRetry = 2 * time.Second
	// blockedRetry is how often the preconditions for in-place updates are looked at again. Deployments and
	// ExtensionConfigs are not watched for the few moments they matter.
	blockedRetry = 15 * time.Second
)

// +kubebuilder:rbac:groups=infrastructure.cluster.x-k8s.io,resources=elementalmachinetemplates,verbs=get;list;watch;create;patch;delete
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
	// Owners finds and changes what refers to templates.
	Owners *owner.Owners
	// Drains has the metadata of Rancher's plan secrets. Default: nothing is upgraded while Rancher drains Nodes.
	Drains cache.Cache
	// Outlook looks at what a rollout would meet. Default: rollouts wait before their nodes only.
	Outlook *outlook.Viewer
	// Recorder emits events.
	Recorder events.EventRecorder
	// WatchFilter is the value of Cluster API's watch-filter label; objects without it are left alone.
	// Empty: all objects are reconciled.
	WatchFilter string

	// limit keeps the templates of one workload cluster from taking all workers.
	limit *workload.Limit
	// waited is since when owners wait for what others end.
	waited observed.Changes
}

// Reconcile compares the content of a template with what its owners refer to.
func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	template := &infrav1.ElementalMachineTemplate{}
	if err := r.Client.Get(ctx, req.NamespacedName, template); apierrors.IsNotFound(err) {
		return ctrl.Result{}, r.unpause(ctx, req.NamespacedName)
	} else if err != nil {
		return ctrl.Result{}, errors.Join(fmt.Errorf("reading ElementalMachineTemplate %s: %w", req.Name, err), r.unpause(ctx, req.NamespacedName))
	}
	if r.isSomebodyElses(template) {
		return ctrl.Result{}, nil
	}
	if !template.DeletionTimestamp.IsZero() {
		return ctrl.Result{}, r.unpause(ctx, req.NamespacedName)
	}
	before := template.DeepCopy()
	if annotations.HasPaused(template) {
		reportPaused(template, r.Owners.Clock.Now())
		return ctrl.Result{}, errors.Join(r.unpause(ctx, req.NamespacedName), r.patchStatus(ctx, before, template))
	}
	seen, result, err := r.actOn(ctx, template)
	reportRolledOut(template)
	err = errors.Join(err, r.reportHolds(ctx, template, seen, err), r.reportEstimate(ctx, template, seen))
	later, tellErr := r.topologies().Tell(ctx, template)
	return util.LowestNonZeroResult(result, ctrl.Result{RequeueAfter: later}), errors.Join(err, tellErr, r.patchStatus(ctx, before, template))
}

// actOn a template: nothing stays paused for it while it is not known what is to be moved, and each owner that cannot be
// moved is unpaused by itself. What was seen is nil where there was nothing to look at.
func (r *Reconciler) actOn(ctx context.Context, template *infrav1.ElementalMachineTemplate) (*observation, ctrl.Result, error) {
	seen, result, err := r.prepare(ctx, template)
	switch {
	case err != nil:
		return seen, ctrl.Result{}, errors.Join(err, r.giveUpPauses(ctx, template))
	case seen == nil || !seen.moves:
		return seen, result, nil
	}
	result, err = r.move(ctx, seen)
	return seen, result, err
}

// prepare looks for what the template's OS is, and who is to be pointed to it.
func (r *Reconciler) prepare(ctx context.Context, template *infrav1.ElementalMachineTemplate) (*observation, ctrl.Result, error) {
	resolved, err := r.resolve(ctx, template)
	switch {
	case err != nil:
		return nil, ctrl.Result{}, err
	case !resolved:
		return nil, ctrl.Result{RequeueAfter: managedos.Retry}, r.unpause(ctx, client.ObjectKeyFromObject(template))
	case rollout.IsClone(template):
		return nil, ctrl.Result{}, errors.Join(reportClone(template), r.unpause(ctx, client.ObjectKeyFromObject(template)))
	}
	return r.reconcile(ctx, template)
}

func (r *Reconciler) isSomebodyElses(template *infrav1.ElementalMachineTemplate) bool {
	return r.WatchFilter != "" && !labels.HasWatchLabel(template, r.WatchFilter)
}

// reconcile finds the owners that are to be moved, and whether they may be. What fails for an owner that is not
// to be moved, or for one of those that are, keeps no other from being moved.
func (r *Reconciler) reconcile(ctx context.Context, template *infrav1.ElementalMachineTemplate) (*observation, ctrl.Result, error) {
	seen, err := r.observe(ctx, template)
	if err != nil {
		return nil, ctrl.Result{}, err
	}
	if err := r.countMachines(ctx, seen); err != nil {
		return seen, ctrl.Result{}, err
	}
	seen.failed = errors.Join(
		r.unpauseAll(ctx, client.ObjectKeyFromObject(template), seen.concerned, seen.at(pending)...),
		r.driveDirect(ctx, seen),
		r.annotate(ctx, seen))
	r.reportReverted(seen)
	if len(seen.at(pending)) == 0 {
		if seen.failed != nil {
			return seen, ctrl.Result{}, seen.failed
		}
		result, err := r.watchOver(ctx, seen)
		return seen, result, err
	}
	problems, err := r.provePointing(ctx, seen)
	if err != nil {
		return seen, ctrl.Result{}, err
	}
	if len(problems) > 0 {
		r.reportBlocked(template, append(problems, seen.others.problems()...))
		return seen, ctrl.Result{RequeueAfter: blockedRetry}, r.unpauseAll(ctx, client.ObjectKeyFromObject(template), seen.concerned)
	}
	seen.moves = true
	return seen, ctrl.Result{}, nil
}

// watchOver a rollout that Cluster API is carrying out: what is needed for it may be taken away half-way,
// and Cluster API says so in its log only. The references stay as they are.
func (r *Reconciler) watchOver(ctx context.Context, seen *observation) (ctrl.Result, error) {
	r.reportHandled(seen)
	under, err := r.underWay(ctx, seen)
	if err != nil {
		return ctrl.Result{}, err
	}
	if len(under) == 0 {
		r.reportUnblocked(seen)
		again, err := r.collect(ctx, seen)
		later := ctrl.Result{RequeueAfter: seen.others.result.After}
		if len(seen.others.problems()) > 0 { // which of them are over is no event
			later.RequeueAfter = blockedRetry
		}
		return util.LowestNonZeroResult(ctrl.Result{RequeueAfter: again}, later), err
	}
	seen.under = under
	for _, candidate := range under {
		if _, why, _ := r.clusterOf(ctx, seen, candidate); why != nil {
			why.object, why.clone = objectOf(candidate), candidate.clone
			seen.waits = append(seen.waits, *why)
		}
	}
	problems, err := r.prover().Prove(ctx, seen.template.Namespace, ownersOf(under)...)
	if err != nil {
		return ctrl.Result{}, err
	}
	if len(problems) == 0 {
		r.reportUnblocked(seen)
	} else {
		r.reportObstacles(seen.template, append(problems, seen.others.problems()...))
	}
	_, err = r.collect(ctx, seen)
	return ctrl.Result{RequeueAfter: blockedRetry}, err
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

// sourceLabel is the value of infrav1.SourceTemplateLabel on the clones of a template.
func sourceLabel(template *infrav1.ElementalMachineTemplate) string {
	return rollout.LabelValue(template.Name)
}
