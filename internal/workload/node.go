// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package workload

import (
	"context"
	"encoding/json"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/pausing"
)

// IsReady reports whether the Node's Ready condition is True.
func IsReady(node *corev1.Node) bool { return readyIs(node, corev1.ConditionTrue) != nil }

// IsUnreachable reports whether the Node's kubelet does not answer. That is what Cluster API takes for it, whose drain does not
// wait for such a Node either.
func IsUnreachable(node *corev1.Node) bool { return readyIs(node, corev1.ConditionUnknown) != nil }

// Readiness of a Node. Two that differ are of two transitions, or of two boots: one that is quick enough leaves the condition as it was.
type Readiness struct {
	BootID string
	Status corev1.ConditionStatus
	// transition is by the clock of the kubelet, or of the controller that took it for dead. It is compared with nothing but another.
	transition int64
}

// ReadinessOf a Node. One that has no condition Ready has none.
func ReadinessOf(node *corev1.Node) Readiness {
	found := Readiness{BootID: node.Status.NodeInfo.BootID}
	for i := range node.Status.Conditions {
		if condition := &node.Status.Conditions[i]; condition.Type == corev1.NodeReady {
			found.Status, found.transition = condition.Status, condition.LastTransitionTime.Unix()
		}
	}
	return found
}

// readyIs is the Node's Ready condition, if it has the status.
func readyIs(node *corev1.Node, status corev1.ConditionStatus) *corev1.NodeCondition {
	for i := range node.Status.Conditions {
		if condition := &node.Status.Conditions[i]; condition.Type == corev1.NodeReady && condition.Status == status {
			return condition
		}
	}
	return nil
}

// CordonedBy returns the attempt that cordoned the Node, or marked it because it is the only one of its cluster, and "" if nobody did
// or somebody else.
func CordonedBy(node *corev1.Node) string {
	if by := node.Annotations[infrav1.MarkedByAnnotation]; by != "" {
		return by
	}
	if !node.Spec.Unschedulable {
		return ""
	}
	return node.Annotations[infrav1.CordonedByAnnotation]
}

// IsMarked reports whether the attempt marked the Node instead of cordoning it: nothing is drained from the only Node of a cluster.
func IsMarked(node *corev1.Node, attempt string) bool {
	return node.Annotations[infrav1.MarkedByAnnotation] == attempt
}

// IsOnlyNode reports whether the cluster has no other Node, whatever the state of its Nodes.
func (c *Cluster) IsOnlyNode(ctx context.Context) (bool, error) {
	if nodes, err := c.CachedNodes(ctx); err != nil || len(nodes) > 1 {
		return false, err
	}
	nodes, err := c.Nodes(ctx) // one that has just joined may be missing in the cache
	return len(nodes) == 1, err
}

// Mark records the attempt on a Node that stays schedulable.
func (c *Cluster) Mark(ctx context.Context, node *corev1.Node, attempt string) error {
	return c.patchNode(ctx, node, "marking", func(n *corev1.Node) { setAnnotation(n, infrav1.MarkedByAnnotation, attempt) })
}

// MarkCordoned records the attempt on a Node that somebody else cordons and uncordons for it, and who had cordoned it before; empty if nobody
// had.
func (c *Cluster) MarkCordoned(ctx context.Context, node *corev1.Node, attempt, before string) error {
	return c.patchNode(ctx, node, "marking", func(n *corev1.Node) {
		setAnnotation(n, infrav1.MarkedByAnnotation, attempt)
		if n.Spec.Unschedulable && before != "" {
			setAnnotation(n, infrav1.PersonsCordonAnnotation, before)
		} else {
			delete(n.Annotations, infrav1.PersonsCordonAnnotation)
		}
		n.Spec.Unschedulable = true
	})
}

// CordonManager is the field manager that made a Node unschedulable; empty if it is not, or that is not known.
func CordonManager(node *corev1.Node) string {
	if !node.Spec.Unschedulable {
		return ""
	}
	for _, entry := range node.ManagedFields {
		fields := map[string]map[string]any{}
		if entry.FieldsV1 == nil || json.Unmarshal(entry.FieldsV1.GetRawBytes(), &fields) != nil {
			continue
		}
		if _, cordons := fields["f:spec"]["f:unschedulable"]; cordons {
			return entry.Manager
		}
	}
	return ""
}

// Cordon makes the Node unschedulable and records the attempt, in one write that fails if the Node has
// changed since it was read. A Node that is unschedulable already is left as it is. A mark from when it was the only Node is removed.
func (c *Cluster) Cordon(ctx context.Context, node *corev1.Node, attempt string) error {
	if node.Spec.Unschedulable {
		return nil
	}
	return c.patchNode(ctx, node, "cordoning", func(n *corev1.Node) {
		n.Spec.Unschedulable = true
		delete(n.Annotations, infrav1.MarkedByAnnotation)
		setAnnotation(n, infrav1.CordonedByAnnotation, attempt)
	})
}

// Uncordon makes the Node schedulable again if the attempt cordoned it, and removes its marks. A mark
// left on a Node that somebody else uncordoned is removed too. A cordon that was there before Rancher drained the Node is put back.
func (c *Cluster) Uncordon(ctx context.Context, node *corev1.Node, attempt string) error {
	isCordoned, isMarked := node.Annotations[infrav1.CordonedByAnnotation] == attempt, node.Annotations[infrav1.MarkedByAnnotation] == attempt
	if !isCordoned && !isMarked {
		return nil
	}
	return c.patchNode(ctx, node, "uncordoning", func(n *corev1.Node) {
		if isCordoned {
			n.Spec.Unschedulable = false
			delete(n.Annotations, infrav1.CordonedByAnnotation)
		}
		if isMarked {
			n.Spec.Unschedulable = n.Spec.Unschedulable || n.Annotations[infrav1.PersonsCordonAnnotation] != ""
			delete(n.Annotations, infrav1.PersonsCordonAnnotation)
			delete(n.Annotations, infrav1.MarkedByAnnotation)
		}
	})
}

// Pause marks the Node as waiting for a person, on behalf of a rollout. A pause that a person has set already is
// left as it is, and noted: both marks are written at once, because one without the other means something else.
func (c *Cluster) Pause(ctx context.Context, node *corev1.Node, rollout string) error {
	return c.patchNode(ctx, node, "pausing", func(n *corev1.Node) {
		if marks := pausing.MarksOf(n); !marks.Paused || marks.Own() {
			setAnnotation(n, infrav1.NodeUpgradePauseAnnotation, rollout)
		}
		setAnnotation(n, infrav1.PausedByAnnotation, rollout)
	})
}

// Resume removes the pause from the Node, whoever set it, because a person has said so.
func (c *Cluster) Resume(ctx context.Context, node *corev1.Node) error {
	if marks := pausing.MarksOf(node); !marks.Paused && marks.By == "" {
		return nil
	}
	return c.patchNode(ctx, node, "resuming", func(n *corev1.Node) {
		delete(n.Annotations, infrav1.NodeUpgradePauseAnnotation)
		delete(n.Annotations, infrav1.PausedByAnnotation)
	})
}

// ClearPause removes what a rollout has set on the Node. A pause of a person stays.
func (c *Cluster) ClearPause(ctx context.Context, node *corev1.Node) error {
	marks := pausing.MarksOf(node)
	if marks.By == "" {
		return nil
	}
	return c.patchNode(ctx, node, "clearing the pause of", func(n *corev1.Node) {
		delete(n.Annotations, infrav1.PausedByAnnotation)
		if marks.Own() {
			delete(n.Annotations, infrav1.NodeUpgradePauseAnnotation)
		}
	})
}

// Delete removes a Node, if it is still the one that was read. One that is gone already is no error.
func (c *Cluster) Delete(ctx context.Context, node *corev1.Node) error {
	if err := c.live.Delete(ctx, node, client.Preconditions{UID: &node.UID}); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("deleting Node %s: %w", node.Name, err)
	}
	return nil
}

// patchNode writes a change with the resourceVersion that was read: a cordon or an annotation that a
// person set in between must not be taken for ours.
func (c *Cluster) patchNode(ctx context.Context, node *corev1.Node, doing string, change func(*corev1.Node)) error {
	before := node.DeepCopy()
	change(node)
	patch := client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})
	if err := c.live.Patch(ctx, node, patch); err != nil {
		return fmt.Errorf("%s Node %s: %w", doing, node.Name, err)
	}
	return nil
}

func setAnnotation(node *corev1.Node, key, value string) {
	if node.Annotations == nil {
		node.Annotations = map[string]string{}
	}
	node.Annotations[key] = value
}
