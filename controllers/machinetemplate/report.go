// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package machinetemplate

import (
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/cluster-api/util/conditions"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/condition"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/inplace"
)

// proveAction is what was tried when an event says that something is in the way.
const proveAction = "Prove"

// reportProblems says what is in the way of the rollout, and what to change.
func (r *Reconciler) reportProblems(template *infrav1.ElementalMachineTemplate, problems []inplace.Problem) {
	if len(problems) == 0 {
		condition.False(template, infrav1.RolloutBlockedCondition, infrav1.NotBlockedReason, "")
		return
	}
	message := inplace.Messages(problems)
	if isNews(template, infrav1.RolloutBlockedCondition, message) {
		r.Recorder.Eventf(template, nil, corev1.EventTypeWarning, infrav1.EventRolloutBlocked, proveAction, "%s", shortened(message))
	}
	condition.TrueBecause(template, infrav1.RolloutBlockedCondition, problems[0].Reason, "%s", message)
}

func isNews(template *infrav1.ElementalMachineTemplate, conditionType, message string) bool {
	known := conditions.Get(template, conditionType)
	return known == nil || known.Message != message
}

// shortened fits the events API, whose notes are at most 1 kB.
func shortened(message string) string {
	const longest = 1000
	if len(message) <= longest {
		return message
	}
	return message[:longest] + "..."
}
