// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package clusterupgrade

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/cluster-api/util/conditions"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
)

// UnknownTemplate says that the template of a member is not known.
func UnknownTemplate(member Member) string {
	return fmt.Sprintf("it is not known from which ElementalMachineTemplate Machine %s gets its OS", member.Machine.Name)
}

// Unrequested says what the Machines of a stage that have no attempt wait for.
func (s Stage) Unrequested() string {
	waiting, upgraded := []string{}, []string{}
	for _, member := range s.Members() {
		switch member.State {
		case Ended:
			upgraded = append(upgraded, member.Machine.Name)
		case Waiting:
			if why := member.cannotBeRequested(); why != "" {
				return why
			}
			waiting = append(waiting, member.Machine.Name)
		}
	}
	if len(waiting) == 0 {
		return "waiting until Machine " + Named(upgraded) + ", which was upgraded, is reported to run the OS"
	}
	return "waiting for an ElementalHostUpgrade of Machine " + Named(waiting)
}

// cannotBeRequested says why no attempt is made for a member; empty if one is to come.
func (m Member) cannotBeRequested() string {
	switch {
	case m.Template == nil:
		return UnknownTemplate(m)
	case hostOf(m) == "":
		return fmt.Sprintf("Machine %s has no host yet: register one for it, or scale its pool down", m.Machine.Name)
	}
	for _, of := range []struct {
		condition string
		status    metav1.ConditionStatus
	}{{infrav1.RolloutBlockedCondition, metav1.ConditionTrue}, {infrav1.OSVersionResolvedCondition, metav1.ConditionFalse}} {
		if says := conditions.Get(m.Template, of.condition); says != nil && says.Status == of.status {
			return fmt.Sprintf("ElementalMachineTemplate %s is not rolled out: %s", m.Template.Name, says.Message)
		}
	}
	return ""
}
