// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package nodepause

import (
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/attempts"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/hoststate"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/owner"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/pausing"
)

// subject is a Machine, and what is known of its part in a rollout.
type subject struct {
	desired
	machine *clusterv1.Machine
	// own is the ElementalMachine. Nil until it is read with what follows, see observation.subjectOn.
	own *infrav1.ElementalMachine
	// host that serves it. Nil if there is none.
	host *infrav1.ElementalHost
	// attempt is the newest of the rollout. Nil if there is none.
	attempt *infrav1.ElementalHostUpgrade
}

// due says what the rollout means for the Node of the subject.
func (s *subject) due(node string) pausing.Due {
	if !s.isToCome() {
		return pausing.Due{}
	}
	return pausing.Due{
		Rollout:  s.rollout,
		ByPolicy: pausing.Names(s.options.Strategy, node),
		Approved: pausing.ApprovedFor(s.machine) == s.rollout,
	}
}

// isToCome reports whether the node is going to be upgraded and can still be paused.
func (s *subject) isToCome() bool {
	switch {
	case s.isOver(), s.runsWanted():
		return false
	case s.attempt == nil:
		return true
	}
	return isActive(s.attempt) && !attempts.PastApproval(s.attempt)
}

// isOver reports whether the rollout has nothing left to do for the Machine.
func (s *subject) isOver() bool {
	switch {
	case s.rollout == "", !s.machine.DeletionTimestamp.IsZero(), !s.own.DeletionTimestamp.IsZero():
		return true
	case s.attempt != nil && s.attempt.PhaseNow() == infrav1.UpgradeSucceeded:
		return true
	case s.attempt != nil && isActive(s.attempt):
		return false
	case owner.NotedRollout(s.own) == s.rollout:
		return false
	}
	return owner.MadeFrom(s.own) == s.template && !owner.IsUpdating(s.machine) && !owner.IsUpdating(s.own)
}

// runsWanted reports whether the host runs the image of the rollout and nothing else is asked for, so that the update is
// done without an attempt: what was not begun of a rollout that was patched back.
func (s *subject) runsWanted() bool {
	return s.host != nil && s.os.RunsOn(s.host) == hoststate.MatchSame && len(s.os.Management) == 1 && !s.os.Version.UpgradeRecovery
}

// isActive reports whether an attempt has steps left to do, and nobody has broken it off.
func isActive(attempt *infrav1.ElementalHostUpgrade) bool {
	return attempt.PhaseNow().IsActive() && attempt.DeletionTimestamp.IsZero() && !attempt.Spec.Cancel
}
