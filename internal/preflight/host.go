// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package preflight

import (
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/annotations"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
)

// checkPaused keeps hands off what a person has paused. The Cluster's and the attempt's own pause stop the
// controller altogether.
func checkPaused(_ *Snapshot, subject *Subject) []infrav1.PreflightResult {
	const remedy = "is paused: take its annotation " + clusterv1.PausedAnnotation + " away to let its upgrade start"
	switch {
	case annotations.HasPaused(subject.Machine):
		return block("Machine/"+subject.Machine.Name, remedy)
	case subject.Elemental != nil && annotations.HasPaused(subject.Elemental):
		return block("ElementalMachine/"+subject.Elemental.Name, remedy)
	case annotations.HasPaused(subject.Host):
		return block("ElementalHost/"+subject.Host.Name, remedy)
	}
	return pass()
}

// checkApproved names the host whose agent would not even answer an attempt.
func checkApproved(_ *Snapshot, subject *Subject) []infrav1.PreflightResult {
	if subject.Host.Spec.Approved {
		return pass()
	}
	return block("ElementalHost/"+subject.Host.Name,
		"is not approved, and its agent upgrades nothing until it is: set its spec.approved to true, or delete its Machine, which resets the host")
}

func checkOtherAttempt(_ *Snapshot, subject *Subject) []infrav1.PreflightResult {
	if subject.Rival == nil {
		return pass()
	}
	return block("ElementalHostUpgrade/"+subject.Rival.Name,
		"is an unfinished attempt on the same host: wait for its end, or set its spec.cancel")
}
