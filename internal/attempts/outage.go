// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package attempts

import (
	"slices"
	"time"

	"sigs.k8s.io/cluster-api/util/conditions"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
)

// StepCordon is the first step of an attempt that has its slot.
const StepCordon = "Cordon"

// Steps between which the node of an attempt is down.
const (
	// StepReboot begins when the host is triggered.
	StepReboot = "Reboot"
	// StepAssess ends when the node is found as good as it was before.
	StepAssess = "Assess"
)

// HasStarted reports whether an attempt has taken its node out of service, or its host was triggered before it was moved to this management cluster.
func HasStarted(attempt *infrav1.ElementalHostUpgrade) bool {
	return HasEntered(attempt, StepCordon) || HasEntered(attempt, StepReboot)
}

// Steps of an attempt by which Rancher is answered.
const (
	// StepHandOver lets Rancher drain the node, and waits for it.
	StepHandOver = "HandOver"
	// StepHandBack lets Rancher uncordon the node, and waits for it.
	StepHandBack = "HandBack"
)

// HasEntered reports whether an attempt has come to a step.
func HasEntered(attempt *infrav1.ElementalHostUpgrade, step string) bool {
	return slices.ContainsFunc(attempt.Status.Steps, func(s infrav1.UpgradeStepStatus) bool { return s.Name == step })
}

// LeftNotReady is the attempt whose image a host has booted, and with which its Node was not found good before another image was wanted: of some attempts on a
// Machine the last that has had its host reboot, if that was superseded in step Assess. Nil if there is none.
func LeftNotReady(among []infrav1.ElementalHostUpgrade) *infrav1.ElementalHostUpgrade {
	last := NewestWhere(among, func(upgrade *infrav1.ElementalHostUpgrade) bool { return HasEntered(upgrade, StepReboot) })
	if last == nil || last.PhaseNow() != infrav1.UpgradeSuperseded || !HasEntered(last, StepAssess) ||
		conditions.Has(last, infrav1.FormerOSHealthyCondition) { // its host rolled back
		return nil
	}
	return last
}

// Disrupting returns the newest attempt that has not ended and has its Node out of service. It returns nil if there is none.
func Disrupting(among []infrav1.ElementalHostUpgrade) *infrav1.ElementalHostUpgrade {
	return NewestWhere(among, func(upgrade *infrav1.ElementalHostUpgrade) bool {
		return !upgrade.PhaseNow().IsEnd() && conditions.IsTrue(upgrade, infrav1.UpgradeDisruptingCondition)
	})
}

// Outage is how long the node of the newest of some attempts was out of service for which that is known: from the trigger until its boot
// was assessed, which includes writing the image. One that took longer than its timeouts waited for a person, and is no measure. It is
// zero if there is none.
func Outage(among []infrav1.ElementalHostUpgrade) time.Duration {
	last := NewestWhere(among, func(upgrade *infrav1.ElementalHostUpgrade) bool {
		timeouts := upgrade.Spec.Options.Timeouts
		took := outageOf(upgrade)
		return took > 0 && took <= timeouts.Reboot()+timeouts.Assessment()
	})
	if last == nil {
		return 0
	}
	return outageOf(last)
}

// Disruption is how long the node of the newest of some attempts took from its slot to its end, for those that succeeded within their time-outs; zero if
// there is none.
func Disruption(among []infrav1.ElementalHostUpgrade) time.Duration {
	last := NewestWhere(among, func(upgrade *infrav1.ElementalHostUpgrade) bool {
		return Outage([]infrav1.ElementalHostUpgrade{*upgrade}) > 0 && disruptionOf(upgrade) > 0
	})
	if last == nil {
		return 0
	}
	return disruptionOf(last)
}

func disruptionOf(upgrade *infrav1.ElementalHostUpgrade) time.Duration {
	cordoned := step(upgrade, StepCordon)
	if cordoned == nil || upgrade.Status.CompletionTime == nil || upgrade.Status.Phase != infrav1.UpgradeSucceeded {
		return 0
	}
	return upgrade.Status.CompletionTime.Sub(cordoned.StartTime.Time)
}

// outageOf an attempt; zero if it has not come that far.
func outageOf(upgrade *infrav1.ElementalHostUpgrade) time.Duration {
	triggered, assessed := step(upgrade, StepReboot), step(upgrade, StepAssess)
	if triggered == nil || assessed == nil || assessed.CompletionTime == nil {
		return 0
	}
	return assessed.CompletionTime.Sub(triggered.StartTime.Time)
}

// step of an attempt that has begun; nil if it has not.
func step(upgrade *infrav1.ElementalHostUpgrade, name string) *infrav1.UpgradeStepStatus {
	for i := range upgrade.Status.Steps {
		if upgrade.Status.Steps[i].Name == name {
			return &upgrade.Status.Steps[i]
		}
	}
	return nil
}
