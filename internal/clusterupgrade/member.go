// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package clusterupgrade

import (
	"cmp"
	"context"
	"slices"
	"time"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/conditions"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/attempts"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/clusterview"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/osversion"
)

// State of a member.
type State int

const (
	// Waiting has not been begun.
	Waiting State = iota
	// Begun has its slot, or its attempt has been past it.
	Begun
	// Ending has an attempt that has given its slot back, and whose end is yet to be recorded.
	Ending
	// Ended has an attempt that has succeeded, which its machine is yet to report.
	Ended
	// Failed has an attempt that ended without the OS, and none that goes on.
	Failed
	// Released has an attempt whose host is lost, and which somebody has released: the upgrade goes on without it.
	Released
	// Done runs the OS, and is not being upgraded.
	Done
)

// Member is a Machine of a pool.
type Member struct {
	Machine   *clusterv1.Machine
	Elemental *infrav1.ElementalMachine
	// Template is the one whose content its owner wants by now; nil if it is unknown.
	Template *infrav1.ElementalMachineTemplate
	// Attempt at the upgrade's OS: the one that has not ended, or the last; nil if there is none.
	Attempt *infrav1.ElementalHostUpgrade
	State   State
	// Took is how long the last attempt that succeeded kept its slot; zero if there is none. IsOfUpgrade says that it was at the upgrade's OS.
	Took        time.Duration
	IsOfUpgrade bool
	// DoneAt is when that was.
	DoneAt time.Time
}

// Node of the member, by the name that people know.
func (m Member) Node() string {
	return cmp.Or(m.Machine.Status.NodeRef.Name, m.Machine.Name)
}

// failures are the ends after which a node waits for somebody.
var failures = []infrav1.UpgradePhase{infrav1.UpgradeRolledBack, infrav1.UpgradeFailed, infrav1.UpgradeAborted, infrav1.UpgradeHostLost}

func (r *reading) member(
	ctx context.Context, machine *clusterv1.Machine, elemental *infrav1.ElementalMachine, template *infrav1.ElementalMachineTemplate,
) (Member, error) {
	member := Member{Machine: machine, Elemental: elemental}
	unfinished, err := r.view.UnfinishedOn(ctx, elemental.Name)
	if err != nil {
		return member, err
	}
	runs, has := r.runs(elemental, template)
	last, err := r.view.NewestAttempt(ctx, elemental.Name)
	if err != nil {
		return member, err
	}
	r.measure(&member, last)
	if runs && unfinished == nil {
		member.State = Done
		return member, nil
	}
	if unfinished != nil && IsFor(r.upgrade, unfinished) {
		member.Attempt, member.State = unfinished, r.stateOf(unfinished)
		return member, nil
	}
	if last == nil || !IsFor(r.upgrade, last) {
		return member, nil
	}
	member.Attempt, member.State = last, ended(last, elemental, has)
	return member, nil
}

// ended is the state of a machine that does not run the OS, by the end of its last attempt at it, and whether it was given that very OS.
func ended(last *infrav1.ElementalHostUpgrade, elemental *infrav1.ElementalMachine, has bool) State {
	drifted := conditions.IsTrue(elemental, infrav1.OSDriftedCondition)
	switch phase := last.PhaseNow(); {
	case slices.Contains(failures, phase) || phase == infrav1.UpgradeSucceeded && has && drifted:
		return Failed
	case phase == infrav1.UpgradeSucceeded && has:
		return Ended
	}
	return Waiting
}

// measure how long the last attempt at a member kept its slot, if it succeeded.
func (r *reading) measure(member *Member, last *infrav1.ElementalHostUpgrade) {
	if last == nil || last.PhaseNow() != infrav1.UpgradeSucceeded || last.Status.CompletionTime == nil {
		return
	}
	for _, step := range last.Status.Steps {
		if step.Name == attempts.StepCordon {
			member.Took, member.DoneAt = last.Status.CompletionTime.Sub(step.StartTime.Time), last.Status.CompletionTime.Time
			member.IsOfUpgrade = IsFor(r.upgrade, last)
		}
	}
}

// stateOf an attempt that has not ended. Its slot is given back just before its end is recorded, unless its virtual machines cannot be started again.
func (r *reading) stateOf(attempt *infrav1.ElementalHostUpgrade) State {
	hasSlot := slices.ContainsFunc(r.slots, func(s infrav1.UpgradeSlot) bool { return s.Attempt == attempts.ID(attempt) })
	switch {
	case attempt.Status.Phase == infrav1.UpgradeHostLost && attempt.Spec.Release:
		return Released
	case attempt.Status.Phase == infrav1.UpgradeHostLost:
		return Failed
	case hasSlot:
		return Begun
	case attempts.HasEntered(attempt, attempts.StepCordon):
		return Ending
	}
	return Waiting
}

// runs reports whether a machine runs the OS, and whether it has been given it.
func (r *reading) runs(elemental *infrav1.ElementalMachine, template *infrav1.ElementalMachineTemplate) (runs, has bool) {
	if template == nil {
		return false, false
	}
	has = osversion.Same(elemental.Spec.OSVersionManagement, Desired(r.upgrade, template.Spec.Template.Spec.OSVersionManagement))
	return has && clusterview.RunsItsOS(elemental), has
}
