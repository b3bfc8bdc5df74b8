// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/predicates"
)

// ownersChanged passes the write by which Cluster API becomes the owner: it changes neither the
// generation nor the annotations.
func ownersChanged() predicate.Predicate {
	return predicates.Changed(func(object client.Object) any { return object.GetOwnerReferences() })
}

// pausedChanged passes our own write of the Paused condition, on which a reconcile ends. All other
// writes of status, the upgrade controller's slots among them, are nothing to reconcile for.
func pausedChanged() predicate.Predicate {
	return predicates.Changed(func(cluster *infrav1.ElementalCluster) any { return predicates.PausedCondition(cluster) })
}

// clusterChanged passes a Cluster that comes or goes, and what is read of it: the pause, the control plane, and its
// endpoint, which somebody else may have written.
func clusterChanged() predicate.Predicate {
	return predicates.Changed(func(cluster *clusterv1.Cluster) any {
		return []any{cluster.Spec.ControlPlaneEndpoint, cluster.Spec.ControlPlaneRef, ptr.Deref(cluster.Spec.Paused, false)}
	})
}
