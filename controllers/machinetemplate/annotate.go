// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package machinetemplate

import (
	"context"
	"fmt"
	"maps"
	"slices"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/annotations"
	"sigs.k8s.io/cluster-api/util/labels"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/direct"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/owner"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/rollout"
)

// annotate writes down what has to outlive a restart: which content the owners were last pointed to, and,
// on a template that owners refer to by its own name, the options of that rollout.
func (r *Reconciler) annotate(ctx context.Context, seen *observation) error {
	stored := seen.template.DeepCopy()
	base := stored.DeepCopy()
	wanted := maps.Clone(stored.Annotations)
	if wanted == nil {
		wanted = map[string]string{}
	}
	if err := r.annotateHash(ctx, seen, wanted); err != nil {
		return err
	}
	if err := r.annotateOptions(ctx, seen, wanted); err != nil {
		return err
	}
	if maps.Equal(wanted, stored.Annotations) {
		return nil
	}
	stored.Annotations = wanted
	if err := r.Client.Patch(ctx, stored, client.MergeFrom(base)); err != nil {
		return fmt.Errorf("annotating ElementalMachineTemplate %s: %w", seen.template.Name, err)
	}
	return nil
}

// annotateHash records the content once there is no owner left to be pointed to it, and driver Direct has noted which Machines have it. A paused Cluster may
// be on its way from another management cluster, with Machines that are still to come.
func (r *Reconciler) annotateHash(ctx context.Context, seen *observation, wanted map[string]string) error {
	if labels.IsTopologyOwned(seen.template) {
		return nil // the annotation is a copy of the class's template's, and the topology controller would turn it back
	}
	recorded, known := wanted[infrav1.RolledOutHashAnnotation]
	if recorded == seen.hash || known && len(seen.owners) == 0 || len(seen.at(pending))+len(seen.at(managed)) > 0 || seen.isUnnoted() {
		return nil
	}
	for _, candidate := range seen.owners {
		cluster := &clusterv1.Cluster{}
		key := client.ObjectKey{Namespace: seen.template.Namespace, Name: candidate.ClusterName()}
		if err := r.Client.Get(ctx, key, cluster); client.IgnoreNotFound(err) != nil {
			return fmt.Errorf("reading Cluster %s: %w", key.Name, err)
		} else if err != nil || annotations.IsPaused(cluster, candidate.Object()) {
			return nil
		}
	}
	wanted[infrav1.RolledOutHashAnnotation] = seen.hash
	return nil
}

// isUnnoted reports whether driver Direct has a Machine of a MachineDeployment on which it has not noted what that has.
func (o *observation) isUnnoted() bool {
	return slices.ContainsFunc(o.others.direct, func(of direct.Machine) bool {
		return isOfMachineDeployment(of.Elemental) && !owner.IsDirect(of.Elemental)
	})
}

// annotateOptions records the options in force when an owner first refers to the template itself, and
// forgets them when none does any more: to return to it later is another rollout.
func (r *Reconciler) annotateOptions(ctx context.Context, seen *observation, wanted map[string]string) error {
	cluster, referred := "", false
	for _, candidate := range seen.owners {
		if owner.TemplateName(candidate) != seen.template.Name {
			continue
		}
		if referred && candidate.ClusterName() != cluster {
			return nil // owners in several clusters have the options of their clusters
		}
		cluster, referred = candidate.ClusterName(), true
	}
	_, recorded := wanted[infrav1.RolloutOptionsAnnotation]
	switch {
	case !referred:
		delete(wanted, infrav1.RolloutOptionsAnnotation)
		return nil
	case recorded:
		return nil
	}
	value, err := r.optionsOf(ctx, seen.template.Namespace, cluster)
	if err != nil {
		return client.IgnoreNotFound(err) // a Cluster may be created after its MachineDeployments
	}
	wanted[infrav1.RolloutOptionsAnnotation] = value
	return nil
}

// optionsOf a Cluster at this moment, as a snapshot.
func (r *Reconciler) optionsOf(ctx context.Context, namespace, cluster string) (string, error) {
	options, _, err := owner.ClusterOptions(ctx, r.Client, namespace, cluster)
	if err != nil {
		return "", err
	}
	return rollout.Snapshot(options)
}
