// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/conditions"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/association"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/clusterview"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/enqueue"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/hoststate"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/predicates"
)

// memberToCluster maps an object that belongs to a Cluster to the Cluster's ElementalCluster.
func (r *Reconciler) memberToCluster(ctx context.Context, object client.Object) []reconcile.Request {
	cluster := &clusterv1.Cluster{}
	if err := r.Client.Get(ctx, clusterview.ClusterOf(object), cluster); err != nil {
		return nil // one that comes is an event itself
	}
	if !association.NamesElementalCluster(cluster.Spec.InfrastructureRef) {
		return nil
	}
	return []reconcile.Request{{NamespacedName: client.ObjectKey{Namespace: object.GetNamespace(), Name: cluster.Spec.InfrastructureRef.Name}}}
}

// clustersNear maps an object to all ElementalClusters of its namespace, of which there are few: whose
// owners refer to a template is not in it, nor which cluster will have a host that is free.
func (r *Reconciler) clustersNear(ctx context.Context, object client.Object) []reconcile.Request {
	clusters := &infrav1.ElementalClusterList{}
	err := r.Client.List(ctx, clusters, client.InNamespace(object.GetNamespace()), client.UnsafeDisableDeepCopy)
	return enqueue.All(ctx, clusters.Items, err)
}

// clustersInDomain maps a host to the ElementalClusters whose failure domains it is in: that of its Cluster, or all of its
// namespace while it is free.
func (r *Reconciler) clustersInDomain(ctx context.Context, host client.Object) []reconcile.Request {
	if host.GetLabels()[clusterv1.ClusterNameLabel] == "" {
		return r.clustersNear(ctx, host)
	}
	return r.memberToCluster(ctx, host)
}

// lineChanged passes what the status line says something of, and nothing else: hosts and attempts are
// written far more often than that.
func lineChanged() predicate.Funcs {
	return predicates.Changed(inLine)
}

// domainChanged passes hosts that are in a failure domain, or were, when it changes which domains there are
// or who can use them.
func domainChanged() predicate.Funcs {
	inDomain := func(object client.Object) bool { return inDomains(object) != nil }
	return predicate.Funcs{
		CreateFunc: func(e event.CreateEvent) bool { return inDomain(e.Object) },
		DeleteFunc: func(e event.DeleteEvent) bool { return inDomain(e.Object) },
		UpdateFunc: predicates.Changed(inDomains).UpdateFunc,
	}
}

// inDomains is what a host's part in its failure domain depends on; nil where it is in none.
func inDomains(object client.Object) any {
	host, ok := object.(*infrav1.ElementalHost)
	if !ok || association.FailureDomain(host) == "" {
		return nil
	}
	free := hoststate.Free(host)
	seen := []any{association.FailureDomain(host), host.Labels[clusterv1.ClusterNameLabel], host.Spec.Approved, free, host.DeletionTimestamp.IsZero()}
	if free {
		seen = append(seen, association.VouchedLabels(host))
	}
	return seen
}

func inLine(object client.Object) any {
	switch of := object.(type) {
	case *clusterv1.Machine:
		return of.Status.NodeRef.Name
	case *infrav1.ElementalMachine:
		return []any{of.Spec.HostRef, of.Spec.OSVersionManagement, of.DeletionTimestamp.IsZero(), conditions.IsTrue(of, infrav1.OSDriftedCondition)}
	case *infrav1.ElementalHost:
		return []string{of.Labels[clusterv1.ClusterNameLabel], of.Status.OS.ImageURI, of.Status.OS.Digest}
	case *infrav1.ElementalHostUpgrade:
		what := ""
		if !of.PhaseNow().IsActive() {
			what = of.Status.Message
		}
		return []any{of.PhaseNow(), of.Status.Step, what, heldByChecks(of), heldBy(of),
			isHeldBy(of, infrav1.HoldHostNotReporting), isHeldBy(of, infrav1.HoldStepOverdue), isBehindOthers(of), conditions.IsTrue(of, clusterv1.PausedCondition)}
	case *infrav1.ElementalMachineTemplate:
		return []any{of.Spec, of.Annotations[infrav1.ResolvedOSVersionAnnotation]}
	default:
		return object.GetGeneration()
	}
}
