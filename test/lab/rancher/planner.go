// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package rancher

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
)

// What machines are said to be doing.
const (
	uncordoning = "uncordoning"
	draining    = "draining"
	configuring = "configuring"

	pausedMessage = "CAPI cluster or RKEControlPlane is paused"
)

// planner delivers plans to the machines of a cluster, tier by tier.
type planner struct {
	kube client.Client
	live client.Reader
}

func (p *planner) setUp(name string, mgr ctrl.Manager) error {
	ofCluster := handler.EnqueueRequestsFromMapFunc(byLabel)
	return ctrl.NewControllerManagedBy(mgr).Named(name).WithOptions(many()).
		For(newObject(ControlPlaneKind, "", "")).
		Watches(&clusterv1.Machine{}, ofCluster).
		Watches(&clusterv1.Cluster{}, ofCluster).
		Watches(&corev1.Secret{}, ofCluster, onPlanSecrets()).
		Complete(p)
}

// onPlanSecrets selects the events of plan Secrets.
func onPlanSecrets() builder.Predicates {
	return builder.WithPredicates(predicate.NewPredicateFuncs(func(object client.Object) bool {
		secret, isSecret := object.(*corev1.Secret)
		return isSecret && secret.Type == PlanSecretType && secret.DeletionTimestamp.IsZero() && secret.Labels[MachineNameLabel] != ""
	}))
}

// Reconcile implements reconcile.Reconciler.
func (p *planner) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	plane := newObject(ControlPlaneKind, request.Namespace, request.Name)
	if err := p.kube.Get(ctx, request.NamespacedName, plane); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	cluster := &clusterv1.Cluster{}
	if err := p.kube.Get(ctx, request.NamespacedName, cluster); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	_, isPaused := plane.GetAnnotations()[clusterv1.PausedAnnotation]
	if isPaused || ptr.Deref(cluster.Spec.Paused, false) {
		return ctrl.Result{}, p.report(ctx, plane, pausedMessage)
	}
	spec, err := specOf[planeSpec](plane)
	if err != nil {
		return ctrl.Result{}, err
	}
	entries, err := p.load(ctx, request.Namespace, spec)
	if err != nil {
		return ctrl.Result{}, err
	}
	message, err := p.process(ctx, plane, spec, entries)
	if err != nil {
		return ctrl.Result{}, err
	}
	return ctrl.Result{}, p.report(ctx, plane, message)
}

// process rolls the tiers, and returns what the first that is not ready waits for.
func (p *planner) process(ctx context.Context, plane *unstructured.Unstructured, spec planeSpec, entries []*entry) (message string, err error) {
	if message, err := p.electInitNode(ctx, entries); err != nil || message != "" {
		return message, err
	}
	for _, t := range tiers(spec.UpgradeStrategy) {
		message, err := p.rollTier(ctx, t, t.of(entries), len(entries))
		if err != nil || message != "" {
			return message, err
		}
		if t.name != controlPlaneTier || isInitialized(plane) {
			continue
		}
		if err := p.initialize(ctx, plane); err != nil {
			return "", err
		}
	}
	return "", nil
}

// electInitNode labels the machine of etcd that is rolled first: the oldest one if there is none.
func (p *planner) electInitNode(ctx context.Context, entries []*entry) (message string, err error) {
	var oldest *entry
	for _, e := range entries {
		switch {
		case e.isInitNode():
			return "", nil
		case e.isEtcd() && oldest == nil:
			oldest = e
		}
	}
	if oldest == nil {
		return "waiting for at least one control plane, etcd, and worker node to be registered", nil
	}
	before := oldest.secret.DeepCopy()
	oldest.secret.Labels[InitNodeLabel] = roleValue
	return "", p.kube.Patch(ctx, oldest.secret, client.MergeFrom(before))
}

func isInitialized(plane *unstructured.Unstructured) bool {
	initialized, _, _ := unstructured.NestedBool(plane.Object, "status", "initialization", "controlPlaneInitialized")
	return initialized
}

func (p *planner) initialize(ctx context.Context, plane *unstructured.Unstructured) error {
	before := plane.DeepCopy()
	if err := unstructured.SetNestedField(plane.Object, true, "status", "initialization", "controlPlaneInitialized"); err != nil {
		return fmt.Errorf("initializing the control plane: %w", err)
	}
	return p.kube.Status().Patch(ctx, plane, client.MergeFrom(before))
}

// report sets condition Ready of the control plane, to False with a message.
func (p *planner) report(ctx context.Context, plane *unstructured.Unstructured, message string) error {
	status, reason := "True", ""
	if message != "" {
		status, reason = "False", "Waiting"
	}
	before := plane.DeepCopy()
	ready := map[string]any{"type": "Ready", "status": status, "reason": reason, "message": message}
	if err := unstructured.SetNestedSlice(plane.Object, []any{ready}, "status", "conditions"); err != nil {
		return fmt.Errorf("reporting the state of the control plane: %w", err)
	}
	return p.kube.Status().Patch(ctx, plane, client.MergeFrom(before))
}
