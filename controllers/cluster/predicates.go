// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/conditions"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
)

// ownersChanged passes the write by which Cluster API becomes the owner: it changes neither the
// generation nor the annotations.
func ownersChanged() predicate.Predicate {
	return predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		return !equality.Semantic.DeepEqual(e.ObjectOld.GetOwnerReferences(), e.ObjectNew.GetOwnerReferences())
	}}
}

// pausedChanged passes our own write of the Paused condition, on which a reconcile ends. All other
// writes of status, the upgrade controller's slots among them, are nothing to reconcile for.
func pausedChanged() predicate.Predicate {
	return predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		before, ok := e.ObjectOld.(*infrav1.ElementalCluster)
		after, okToo := e.ObjectNew.(*infrav1.ElementalCluster)
		return ok && okToo &&
			pausedState(before) != pausedState(after)
	}}
}

// pausedState is what the Paused condition says.
func pausedState(object conditions.Getter) [2]string {
	paused := conditions.Get(object, clusterv1.PausedCondition)
	if paused == nil {
		return [2]string{}
	}
	return [2]string{string(paused.Status), paused.Message}
}

// clusterChanged passes a Cluster that comes or goes, and what is read of it: the pause, the control plane, and its
// endpoint, which somebody else may have written.
func clusterChanged() predicate.Predicate {
	return predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		before, ok := e.ObjectOld.(*clusterv1.Cluster)
		after, okToo := e.ObjectNew.(*clusterv1.Cluster)
		return ok && okToo && (before.Spec.ControlPlaneEndpoint != after.Spec.ControlPlaneEndpoint ||
			before.Spec.ControlPlaneRef != after.Spec.ControlPlaneRef ||
			ptr.Deref(before.Spec.Paused, false) != ptr.Deref(after.Spec.Paused, false))
	}}
}
