// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package nodepause

import (
	corev1 "k8s.io/api/core/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/attempts"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/owner"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/pausing"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/predicates"
)

// markedChanged passes what the marks of a Node depend on, and nothing else: kubelets and hosts report all the time.
func markedChanged() predicate.Funcs {
	return predicates.Changed(marked)
}

func marked(object client.Object) any {
	goes := !object.GetDeletionTimestamp().IsZero()
	switch of := object.(type) {
	case *corev1.Node:
		return pausing.MarksOf(of)
	case *clusterv1.Machine:
		return []any{goes, of.Status.NodeRef.Name, owner.IsUpdating(of), pausing.ApprovedFor(of)}
	case *infrav1.ElementalMachine:
		return []any{goes, of.Spec.HostRef, owner.IsUpdating(of), of.Annotations[clusterv1.TemplateClonedFromNameAnnotation], owner.NotedRollout(of)}
	case *infrav1.ElementalHost:
		return []any{of.Labels[clusterv1.ClusterNameLabel], of.Status.OS.ImageURI, of.Status.OS.Digest}
	case *infrav1.ElementalHostUpgrade:
		phase := of.PhaseNow()
		return []any{goes, of.Spec.Cancel, phase.IsActive(), phase == infrav1.UpgradeSucceeded, attempts.PastApproval(of)}
	case *infrav1.ElementalMachineTemplate:
		return []any{goes, of.Generation, of.Annotations[infrav1.ResolvedOSVersionAnnotation]}
	case *infrav1.ElementalRollout:
		return []any{goes, of.Spec.Completed}
	default: // a label tells whose a control plane is, and comes later
		return []any{goes, object.GetGeneration(), object.GetLabels()[clusterv1.ClusterNameLabel]}
	}
}
