// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/cluster-api/util/conditions"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/clusterview"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/condition"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/pausing"
)

// resolveAction is what is done in the event of names that are no nodes.
const resolveAction = "Resolve"

// observePauseNodes reports the names in strategy.pauseNodes that are no nodes of the cluster: those of the spec, and those of rollouts in progress, which keep
// the options that they started with.
func (r *Reconciler) observePauseNodes(ctx context.Context, object *infrav1.ElementalCluster, view *clusterview.View) error {
	unknown, err := unknownPauseNodes(ctx, view, object.Spec.NodeUpgradeOption.Strategy)
	if err != nil {
		return err
	}
	known := conditions.Get(object, infrav1.PauseNodesKnownCondition)
	switch {
	case unknown != "":
		condition.False(object, infrav1.PauseNodesKnownCondition, infrav1.UnknownNodesReason, "%s", unknown)
		if known == nil || known.Message != unknown {
			r.Recorder.Eventf(object, nil, corev1.EventTypeWarning, infrav1.EventUnknownPauseNodes, resolveAction, "%s", unknown)
		}
	case object.Spec.NodeUpgradeOption.Strategy.IsManual():
		condition.True(object, infrav1.PauseNodesKnownCondition)
	case known != nil:
		conditions.Delete(object, infrav1.PauseNodesKnownCondition)
	}
	return nil
}

// unknownPauseNodes says which names are no nodes; empty if there are none. The names of the spec are not judged while a Machine has no Node.
func unknownPauseNodes(ctx context.Context, view *clusterview.View, inSpec infrav1.NodeUpgradeStrategy) (string, error) {
	machines, err := view.Machines(ctx)
	if err != nil {
		return "", err
	}
	nodes, isComplete := []string{}, true
	for i := range machines {
		if name := machines[i].Status.NodeRef.Name; name != "" {
			nodes = append(nodes, name)
		} else if machines[i].DeletionTimestamp.IsZero() {
			isComplete = false
		}
	}
	said := []string{}
	if names := pausing.Unknown(inSpec, nodes); len(names) > 0 && isComplete {
		said = append(said, fmt.Sprintf("spec.nodeUpgradeOption.strategy.pauseNodes names %s: correct it before the next rollout", noNodes(names)))
	}
	unfinished, err := view.Unfinished(ctx)
	inRollouts := map[string]infrav1.NodeUpgradeStrategy{}
	for i := range unfinished {
		inRollouts[pausing.RolloutOf(&unfinished[i])] = unfinished[i].Spec.Options.Strategy
	}
	for _, of := range slices.Sorted(maps.Keys(inRollouts)) {
		if names := pausing.Unknown(inRollouts[of], nodes); len(names) > 0 {
			said = append(said, fmt.Sprintf("pauseNodes of ElementalRollout %s names %s: annotate the Node that is meant with %s",
				of, noNodes(names), infrav1.NodeUpgradePauseAnnotation))
		}
	}
	return strings.Join(said, "; "), err
}

func noNodes(names []string) string {
	if len(names) == 1 {
		return names[0] + ", which is no node of the cluster"
	}
	return strings.Join(names, ", ") + ", which are no nodes of the cluster"
}
