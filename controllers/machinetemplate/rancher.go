// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package machinetemplate

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/association"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/existing"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/owner"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/rancher"
)

// watchDrains has the templates of Machines looked at whose Nodes Rancher begins to drain.
func (r *Reconciler) watchDrains(by controller.Controller, drains cache.Cache) error {
	return by.Watch(source.Kind(drains, rancher.NewSecret(),
		handler.TypedEnqueueRequestsFromMapFunc(r.templateOfDrain), rancher.Changed()))
}

// templateOfDrain is the template that the Machine of a plan secret was made from.
func (r *Reconciler) templateOfDrain(ctx context.Context, secret *metav1.PartialObjectMetadata) []reconcile.Request {
	machine, err := existing.Get(ctx, r.Client, &clusterv1.Machine{}, secret.Namespace, secret.Labels[rancher.MachineNameLabel])
	if err != nil || machine == nil || !association.NamesElementalMachine(machine.Spec.InfrastructureRef) {
		logFailure(ctx, err, secret)
		return nil
	}
	elemental, err := existing.Get(ctx, r.Client, &infrav1.ElementalMachine{}, secret.Namespace, machine.Spec.InfrastructureRef.Name)
	if err != nil || elemental == nil {
		logFailure(ctx, err, secret)
		return nil
	}
	return requestFor(secret.Namespace, owner.MadeFrom(elemental))
}

func logFailure(ctx context.Context, err error, secret *metav1.PartialObjectMetadata) {
	if err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "Failed to find the Machine that Rancher drains", "Secret", secret.Name)
	}
}
