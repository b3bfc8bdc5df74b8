// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package machinetemplate

import (
	"context"
	"fmt"
	"slices"

	"sigs.k8s.io/cluster-api/util/annotations"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/owner"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/rollout"
)

// annotateOptions records on the template the options in force when an owner first refers to it, and forgets them when none does any more: to return
// to it later is another rollout.
func (r *Reconciler) annotateOptions(ctx context.Context, seen *observation) error {
	_, isRecorded := seen.template.Annotations[infrav1.RolloutOptionsAnnotation]
	if isRecorded == (len(seen.owners) > 0) {
		return nil
	}
	stored := seen.template.DeepCopy()
	base := stored.DeepCopy()
	if isRecorded {
		delete(stored.Annotations, infrav1.RolloutOptionsAnnotation)
	} else {
		options, err := r.optionsOfAll(ctx, seen)
		if err != nil || options == "" {
			return client.IgnoreNotFound(err) // a Cluster may be created after its MachineDeployments
		}
		annotations.AddAnnotations(stored, map[string]string{infrav1.RolloutOptionsAnnotation: options})
	}
	if err := r.Client.Patch(ctx, stored, client.MergeFrom(base)); err != nil {
		return fmt.Errorf("annotating ElementalMachineTemplate %s: %w", seen.template.Name, err)
	}
	return nil
}

// optionsOfAll owners that refer to the template; empty if they are in several Clusters: each has the options of its own.
func (r *Reconciler) optionsOfAll(ctx context.Context, seen *observation) (string, error) {
	cluster := seen.owners[0].ClusterName()
	if slices.ContainsFunc(seen.owners, func(of owner.Owner) bool { return of.ClusterName() != cluster }) {
		return "", nil
	}
	return r.optionsOf(ctx, seen.template.Namespace, cluster)
}

// optionsOf a Cluster at this moment, as a snapshot.
func (r *Reconciler) optionsOf(ctx context.Context, namespace, cluster string) (string, error) {
	options, _, err := owner.ClusterOptions(ctx, r.Client, namespace, cluster)
	if err != nil {
		return "", err
	}
	return rollout.Snapshot(options)
}
