// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package pausing

import (
	"sigs.k8s.io/cluster-api/util/annotations"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
)

// ApprovedFor is the rollout for which an operator has approved the node of a Machine; empty if there is none.
func ApprovedFor(machine client.Object) string {
	return machine.GetAnnotations()[infrav1.ApprovedRolloutAnnotation]
}

// SetApproved records, in memory, the rollout for which the node of a Machine was approved. An empty name removes the record.
func SetApproved(machine client.Object, rollout string) {
	if rollout != "" {
		annotations.AddAnnotations(machine, map[string]string{infrav1.ApprovedRolloutAnnotation: rollout})
		return
	}
	left := machine.GetAnnotations()
	delete(left, infrav1.ApprovedRolloutAnnotation)
	machine.SetAnnotations(left)
}
