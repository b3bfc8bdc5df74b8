// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package rancherdrain

import (
	"context"
	"fmt"
	"maps"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/cluster-api/util/annotations"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/association"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/existing"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/rancher"
)

// retry is how often a drain is looked at that is not answered. What it waits for is an event, as a rule.
const retry = 30 * time.Second

// soon is after how long an answer is tried again that met another write.
const soon = 100 * time.Millisecond

// answerAction is what is done in the events of a Machine.
const answerAction = "Answer"

// +kubebuilder:rbac:groups=infrastructure.cluster.x-k8s.io,resources=elementalhostupgrades;elementalmachines;elementalmachinetemplates;elementalhosts,verbs=get;list;watch
// +kubebuilder:rbac:groups=cluster.x-k8s.io,resources=clusters;machines,verbs=get;list;watch
// +kubebuilder:rbac:groups=events.k8s.io,resources=events,verbs=create;patch

// Reconciler answers the hooks on plan secrets.
type Reconciler struct {
	// Client reads from the cache and writes.
	Client client.Client
	// Live reads from the API server what decides on an answer, which cannot be taken back.
	Live client.Reader
	// Drains has the metadata of the plan secrets, by package rancher.
	Drains cache.Cache
	// Recorder emits events.
	Recorder events.EventRecorder
	// WatchFilter is the value of Cluster API's watch-filter label; the Machines of Clusters without it are left alone. Empty: none is.
	WatchFilter string
}

// SetupWithManager adds the controller to the manager.
func (r *Reconciler) SetupWithManager(_ context.Context, mgr ctrl.Manager, options controller.Options) error {
	err := ctrl.NewControllerManagedBy(mgr).
		Named("rancherdrain").
		WithOptions(options).
		WatchesRawSource(source.Kind(r.Drains, rancher.NewSecret(), &handler.TypedEnqueueRequestForObject[*metav1.PartialObjectMetadata]{}, rancher.Changed())).
		Watches(&infrav1.ElementalHostUpgrade{}, handler.EnqueueRequestsFromMapFunc(r.drainOfAttempt)).
		Watches(&infrav1.ElementalMachine{}, handler.EnqueueRequestsFromMapFunc(r.drainOfMachine)).
		Complete(r)
	if err != nil {
		return fmt.Errorf("setting up the controller of Rancher's drains: %w", err)
	}
	return nil
}

// Reconcile gives the answers on one plan secret that are right now, and takes back those that are not.
func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	secret, err := existing.Get(ctx, r.Live, rancher.NewSecret(), req.Namespace, req.Name)
	if err != nil || secret == nil {
		return ctrl.Result{}, err
	}
	drain := rancher.Of(secret)
	verdict, err := r.judge(ctx, drain)
	switch {
	case err != nil:
		return ctrl.Result{}, err
	case verdict.isLeftAlone:
		return ctrl.Result{RequeueAfter: verdict.lookAgain}, nil
	}
	if err := r.answer(ctx, drain, verdict.Answers); apierrors.IsConflict(err) { // with a report of Rancher's agent, which is no event here
		return ctrl.Result{RequeueAfter: soon}, nil
	} else if err != nil {
		return ctrl.Result{}, err
	}
	r.report(drain, verdict)
	if drain.IsAsked() && (!verdict.Before || !verdict.After) {
		return ctrl.Result{RequeueAfter: retry}, nil
	}
	return ctrl.Result{}, nil
}

// answer with the resourceVersion that was read: the next drain may have the same token, and would take an answer to the former one for its own.
func (r *Reconciler) answer(ctx context.Context, drain rancher.Drain, answers rancher.Answers) error {
	before, after := drain.Secret.DeepCopy(), drain.Secret.DeepCopy()
	for key, value := range drain.Annotate(answers) {
		if value == "" {
			delete(after.Annotations, key)
			continue
		}
		annotations.AddAnnotations(after, map[string]string{key: value})
	}
	if maps.Equal(before.Annotations, after.Annotations) {
		return nil
	}
	if err := r.Client.Patch(ctx, after, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("answering Rancher on Secret %s: %w", after.Name, err)
	}
	return nil
}

// report what keeps Rancher waiting for a user, on the Machine and its Cluster.
func (r *Reconciler) report(drain rancher.Drain, verdict verdict) {
	isWaiting := drain.AsksBefore() && !verdict.Before || drain.AsksAfter() && !verdict.After
	if verdict.failed == "" || verdict.machine == nil || !isWaiting {
		return
	}
	for _, about := range []client.Object{verdict.machine, verdict.cluster} {
		r.Recorder.Eventf(about, nil, corev1.EventTypeWarning, infrav1.EventRancherDrainHeld, answerAction,
			"Rancher waits with Node %s cordoned: %s", verdict.machine.Status.NodeRef.Name, verdict.failed)
	}
}

// drainOfAttempt is the plan secret of the Machine of an attempt.
func (r *Reconciler) drainOfAttempt(ctx context.Context, object client.Object) []reconcile.Request {
	attempt, isAttempt := object.(*infrav1.ElementalHostUpgrade)
	if !isAttempt || attempt.Spec.Driver != infrav1.DriverRancherDrain {
		return nil
	}
	return r.drainOf(ctx, attempt.Namespace, attempt.Spec.MachineName)
}

// drainOfMachine is the plan secret of the Machine of an ElementalMachine, whose annotations say what is rolled out to it.
func (r *Reconciler) drainOfMachine(ctx context.Context, object client.Object) []reconcile.Request {
	elemental, isOne := object.(*infrav1.ElementalMachine)
	if !isOne || !rancher.MayOwn(elemental) {
		return nil
	}
	return r.drainOf(ctx, elemental.Namespace, association.OwnerMachine(elemental))
}

func (r *Reconciler) drainOf(ctx context.Context, namespace, machine string) []reconcile.Request {
	drain, err := rancher.DrainOf(ctx, r.Drains, namespace, machine)
	if err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "Failed to find the plan secret of a Machine", "Machine", machine)
		return nil
	}
	if !drain.IsAsked() {
		return nil
	}
	return []reconcile.Request{{NamespacedName: client.ObjectKeyFromObject(drain.Secret)}}
}
