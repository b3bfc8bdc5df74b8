// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package machine

import (
	"context"
	"fmt"

	"k8s.io/utils/clock"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util"
	capicontroller "sigs.k8s.io/cluster-api/util/controller"
	"sigs.k8s.io/cluster-api/util/predicates"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/association"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/workload"
)

const controllerName = "elementalmachine"

// SetupWithManager adds the controller, and the field indexes of package association, to a manager that has not been
// started, whose cache has the indexes of package clusterview.
func (r *Reconciler) SetupWithManager(ctx context.Context, mgr ctrl.Manager, options controller.Options) error {
	if r.Clock == nil {
		r.Clock = clock.RealClock{}
	}
	if r.Recorder == nil {
		r.Recorder = mgr.GetEventRecorder(controllerName)
	}
	r.limit = workload.LimitFor(options.MaxConcurrentReconciles, crowded)
	if err := association.AddIndexes(ctx, mgr.GetFieldIndexer()); err != nil {
		return err
	}
	var err error
	log := mgr.GetLogger().WithValues("controller", controllerName)
	r.controller, err = capicontroller.NewControllerManagedBy(mgr, log).
		Named(controllerName).
		For(&infrav1.ElementalMachine{}, builder.WithPredicates(
			predicates.ResourceHasFilterLabel(mgr.GetScheme(), log, r.WatchFilterValue))).
		WithOptions(options).
		Watches(&clusterv1.Machine{},
			handler.EnqueueRequestsFromMapFunc(util.MachineToInfrastructureMapFunc(infrav1.GroupVersion.WithKind("ElementalMachine"))),
			machineChanged()).
		Watches(&clusterv1.Cluster{},
			handler.EnqueueRequestsFromMapFunc(r.clusterToMachines),
			clusterChanged()).
		Watches(&infrav1.ElementalCluster{},
			handler.EnqueueRequestsFromMapFunc(r.elementalClusterToMachines),
			predicate.GenerationChangedPredicate{}).
		Watches(&infrav1.ElementalHost{},
			handler.EnqueueRequestsFromMapFunc(r.hostToMachines),
			hostChanged()).
		Watches(&infrav1.ElementalRegistration{},
			handler.EnqueueRequestsFromMapFunc(association.ByRegistration(r.Client, served)),
			association.RulesChanged()).
		Watches(&infrav1.ElementalMachineTemplate{},
			handler.EnqueueRequestsFromMapFunc(r.templateToMachines),
			templateChanged()).
		Watches(&infrav1.ElementalRollout{},
			handler.EnqueueRequestsFromMapFunc(r.rolloutToHostless),
			rolloutChanged()).
		Watches(&infrav1.ElementalHostUpgrade{},
			handler.EnqueueRequestsFromMapFunc(upgradeToMachine),
			upgradeChanged()).
		Watches(&infrav1.ElementalHostUpgrade{},
			handler.EnqueueRequestsFromMapFunc(r.pausedToWaiting),
			pauseChanged()).
		WatchesRawSource(r.ClusterCache.GetClusterSource(controllerName, r.clusterToMachines)).
		WatchesRawSource(r.limit.Source()).
		Build(ctx, r)
	if err != nil {
		return fmt.Errorf("building controller %s: %w", controllerName, err)
	}
	return nil
}
