// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package hostupgrade

import (
	"context"
	"errors"
	"slices"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/attempts"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/clusterview"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/enqueue"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/osversion"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/predicates"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/rollout"
)

// attemptsOfTemplate wakes the attempts for the clones of a template: another OS may be wanted now, before its clone exists.
func (r *Reconciler) attemptsOfTemplate(ctx context.Context, template client.Object) []ctrl.Request {
	family, err := clusterview.Family(ctx, r.Client, template.GetNamespace(), rollout.LabelValue(template.GetName()))
	clones, found := map[string][]string{}, []infrav1.ElementalHostUpgrade{}
	for i := range family {
		if rollout.IsClone(&family[i]) {
			cluster := family[i].Labels[clusterv1.ClusterNameLabel]
			clones[cluster] = append(clones[cluster], family[i].Name)
		}
	}
	for cluster, names := range clones {
		unsettled, listErr := attempts.Unsettled(ctx, r.Client, client.ObjectKey{Namespace: template.GetNamespace(), Name: cluster})
		err = errors.Join(err, listErr)
		found = append(found, slices.DeleteFunc(unsettled, func(u infrav1.ElementalHostUpgrade) bool { return !slices.Contains(names, u.Spec.TemplateName) })...)
	}
	return enqueue.All(ctx, found, err)
}

// osChanged passes another OS of a template.
func osChanged() predicate.Funcs {
	return predicates.Changed(func(template *infrav1.ElementalMachineTemplate) any {
		return osversion.Hash(osversion.OfTemplate(template))
	})
}
