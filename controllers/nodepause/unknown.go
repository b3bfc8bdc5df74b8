// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package nodepause

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/cluster-api/util/conditions"
	"sigs.k8s.io/cluster-api/util/patch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/condition"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/existing"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/pausing"
)

// resolveAction is what was tried when an event says that a name is unknown, in the events API's terms.
const resolveAction = "Resolve"

// reportUnknown says which names of strategy.pauseNodes are no nodes of the cluster: those that the next rollout would
// pause, and those that a running one should have paused.
func (r *Reconciler) reportUnknown(ctx context.Context, seen *observation) error {
	if !seen.cluster.DeletionTimestamp.IsZero() {
		return nil
	}
	elemental := seen.elemental.DeepCopy()
	helper, err := patch.NewHelper(elemental, r.Client)
	if err != nil {
		return fmt.Errorf("preparing the patch of ElementalCluster %s: %w", elemental.Name, err)
	}
	message, running, err := seen.unknown(ctx)
	if err != nil {
		return err
	}
	known := conditions.Get(elemental, infrav1.PauseNodesKnownCondition)
	switch {
	case message != "":
		condition.False(elemental, infrav1.PauseNodesKnownCondition, infrav1.UnknownNodesReason, "%s", message)
	case elemental.Spec.NodeUpgradeOption.Strategy.Mode == infrav1.NodeUpgradeModeManual:
		condition.True(elemental, infrav1.PauseNodesKnownCondition)
	case known != nil:
		conditions.Delete(elemental, infrav1.PauseNodesKnownCondition)
	}
	if err := helper.Patch(ctx, elemental, patch.WithOwnedConditions{Conditions: []string{infrav1.PauseNodesKnownCondition}}); err != nil {
		return fmt.Errorf("writing condition %s of ElementalCluster %s: %w", infrav1.PauseNodesKnownCondition, elemental.Name, client.IgnoreNotFound(err))
	}
	if message == "" || known != nil && known.Message == message {
		return nil
	}
	r.Recorder.Eventf(elemental, nil, corev1.EventTypeWarning, infrav1.EventUnknownPauseNodes, resolveAction, "%s", message)
	return r.tellTemplates(ctx, elemental, running)
}

// unknown names in words, and by the rollout that runs with them. Nodes that are still to come may be meant by the
// names in the spec.
func (o *observation) unknown(ctx context.Context) (message string, running map[string]string, err error) {
	said := []string{}
	if names := pausing.Unknown(o.elemental.Spec.NodeUpgradeOption.Strategy, o.nodes); len(names) > 0 && !o.incomplete {
		said = append(said, fmt.Sprintf("spec.nodeUpgradeOption.strategy.pauseNodes names %s: correct it before the next rollout", noNodes(names)))
	}
	if running, err = o.unknownInRollouts(ctx); err != nil {
		return "", nil, err
	}
	for _, rollout := range slices.Sorted(maps.Keys(running)) {
		said = append(said, running[rollout])
	}
	return strings.Join(said, "; "), running, nil
}

// unknownInRollouts names, in words, by the rollout that runs with them. The names of each rollout are looked up once.
func (o *observation) unknownInRollouts(ctx context.Context) (map[string]string, error) {
	running, unknown := map[string]string{}, map[string][]string{}
	for node, of := range o.subjects {
		names, isLookedUp := unknown[of.rollout]
		if !isLookedUp {
			names = pausing.Unknown(of.options.Strategy, o.nodes)
			unknown[of.rollout] = names
		}
		if len(names) == 0 || running[of.rollout] != "" {
			continue
		}
		found, err := o.subjectOn(ctx, node)
		if err != nil {
			return nil, err
		}
		if found != nil && !found.isOver() {
			running[of.rollout] = fmt.Sprintf("pauseNodes of ElementalRollout %s names %s: annotate the Node that is meant with %s",
				of.rollout, noNodes(names), infrav1.NodeUpgradePauseAnnotation)
		}
	}
	return running, nil
}

func noNodes(names []string) string {
	if len(names) == 1 {
		return names[0] + ", which is no node of the cluster"
	}
	return strings.Join(names, ", ") + ", which are no nodes of the cluster"
}

// tellTemplates emits what is wrong with a rollout on the template that a person has patched, too.
func (r *Reconciler) tellTemplates(ctx context.Context, elemental *infrav1.ElementalCluster, running map[string]string) error {
	for _, name := range slices.Sorted(maps.Keys(running)) {
		of, err := existing.Get(ctx, r.Client, &infrav1.ElementalRollout{}, elemental.Namespace, name)
		if err != nil {
			return err
		}
		if of == nil {
			continue
		}
		template, err := existing.Get(ctx, r.Client, &infrav1.ElementalMachineTemplate{}, elemental.Namespace, of.Spec.TemplateName)
		if err != nil {
			return err
		}
		if template != nil {
			r.Recorder.Eventf(template, elemental, corev1.EventTypeWarning, infrav1.EventUnknownPauseNodes, resolveAction, "%s", running[name])
		}
	}
	return nil
}
