// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package clusterupgrade

import (
	"cmp"
	"context"
	"slices"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

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
	// Failed has an attempt that ended without the OS, and none that goes on.
	Failed
	// Done runs the OS, and is not being upgraded.
	Done
)

// Member is a Machine of a pool.
type Member struct {
	Machine   *clusterv1.Machine
	Elemental *infrav1.ElementalMachine
	// Wanted is the ElementalMachineTemplate that its owner wants it to have by now, which may be a clone; empty if that is unknown.
	Wanted string
	// Source is the template that a person would patch to upgrade it; nil if it is unknown.
	Source *infrav1.ElementalMachineTemplate
	// Attempt at the upgrade's OS: the one that has not ended, or the last; nil if there is none.
	Attempt *infrav1.ElementalHostUpgrade
	State   State
}

// Node of the member, by the name that people know.
func (m Member) Node() string {
	return cmp.Or(m.Machine.Status.NodeRef.Name, m.Machine.Name)
}

// failures are the ends after which a node waits for somebody.
var failures = []infrav1.UpgradePhase{infrav1.UpgradeRolledBack, infrav1.UpgradeFailed, infrav1.UpgradeAborted, infrav1.UpgradeHostLost}

func (r *reading) member(
	ctx context.Context, machine *clusterv1.Machine, elemental *infrav1.ElementalMachine, source *infrav1.ElementalMachineTemplate,
) (Member, error) {
	member := Member{Machine: machine, Elemental: elemental}
	unfinished, err := r.view.UnfinishedOn(ctx, elemental.Name)
	if err != nil {
		return member, err
	}
	runs, err := r.runs(elemental, source)
	if err != nil {
		return member, err
	}
	if runs && unfinished == nil {
		member.State = Done
		return member, nil
	}
	if unfinished != nil && IsFor(r.upgrade, unfinished) {
		member.Attempt, member.State = unfinished, r.stateOf(unfinished)
		return member, nil
	}
	last, err := r.view.NewestAttempt(ctx, elemental.Name)
	if err != nil || last == nil || !IsFor(r.upgrade, last) {
		return member, err
	}
	member.Attempt = last
	if slices.Contains(failures, last.PhaseNow()) {
		member.State = Failed
	}
	return member, nil
}

// stateOf an attempt that has not ended.
func (r *reading) stateOf(attempt *infrav1.ElementalHostUpgrade) State {
	hasSlot := slices.ContainsFunc(r.slots, func(s infrav1.UpgradeSlot) bool { return s.Attempt == attempts.ID(attempt) })
	switch {
	case attempt.Status.Phase == infrav1.UpgradeHostLost:
		return Failed
	case hasSlot || attempts.HasEntered(attempt, attempts.StepCordon):
		return Begun
	}
	return Waiting
}

// runs reports whether a machine has been given the OS, and runs it.
func (r *reading) runs(elemental *infrav1.ElementalMachine, source *infrav1.ElementalMachineTemplate) (bool, error) {
	if source == nil || !clusterview.RunsItsOS(elemental) {
		return false, nil
	}
	desired, err := Desired(r.upgrade, source.Spec.Template.Spec.OSVersionManagement)
	return err == nil && osversion.Same(elemental.Spec.OSVersionManagement, desired), err
}
