// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package pausing

import (
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
)

// Marks are the pause annotations of a Node.
type Marks struct {
	// Paused reports whether the Node is paused, by anyone, and Value is the annotation's value.
	Paused bool
	Value  string
	// By is the rollout that paused the Node, or has observed an operator's pause; empty if there is none.
	By string
}

// MarksOf a Node.
func MarksOf(node client.Object) Marks {
	value, paused := node.GetAnnotations()[infrav1.NodeUpgradePauseAnnotation]
	return Marks{Paused: paused, Value: value, By: node.GetAnnotations()[infrav1.PausedByAnnotation]}
}

// Own reports whether the pause was set by a rollout. No other pause may be removed.
func (m Marks) Own() bool { return m.Paused && m.By != "" && m.Value == m.By }

// RolloutOf is the name of the rollout that an attempt belongs to, which is not used again: annotations of one rollout do not apply to the next. An attempt
// without one is a rollout of its own.
func RolloutOf(upgrade *infrav1.ElementalHostUpgrade) string {
	if upgrade.Spec.RolloutName != "" {
		return upgrade.Spec.RolloutName
	}
	return upgrade.Name
}
