// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package pausing

import (
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
)

// Marks are what a Node says of its pause.
type Marks struct {
	// Paused says whether there is a pause, whoever set it, and Value is what it says.
	Paused bool
	Value  string
	// By is the rollout that paused the Node, or took note of a person's pause; empty where none did.
	By string
}

// MarksOf a Node.
func MarksOf(node client.Object) Marks {
	value, paused := node.GetAnnotations()[infrav1.NodeUpgradePauseAnnotation]
	return Marks{Paused: paused, Value: value, By: node.GetAnnotations()[infrav1.PausedByAnnotation]}
}

// Own says whether the pause is one that we set, and may take away.
func (m Marks) Own() bool { return m.Paused && m.By != "" && m.Value == m.By }

// RolloutOf is the name of the rollout that an attempt belongs to: the template whose content is rolled out. A
// clone's name is never used twice, so nothing of one rollout is taken for the next one's. An attempt of no known
// template is a rollout of its own.
func RolloutOf(upgrade *infrav1.ElementalHostUpgrade) string {
	if upgrade.Spec.TemplateName != "" {
		return upgrade.Spec.TemplateName
	}
	return upgrade.Name
}
