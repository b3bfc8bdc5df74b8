// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package direct

import (
	"context"
	"slices"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/attempts"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/existing"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/owner"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/rollout"
)

// failedMachine is a machine with an attempt that has not succeeded.
type failedMachine struct {
	machine *Machine
	attempt *infrav1.ElementalHostUpgrade
}

// recordStop records in the rollout which of its attempts has stopped it. An attempt that does not end well records that itself, before its slot is free: what
// the cache has not seen yet removes no stop.
func (p *pass) recordStop(ctx context.Context, found []failedMachine) error {
	if p.rollout == nil {
		return nil
	}
	stoppedBy, err := p.stopOf(ctx, slices.DeleteFunc(slices.Clone(found), func(f failedMachine) bool { return attempts.IsAwaitedByRancher(f.attempt) }))
	if err != nil || stoppedBy == p.rollout.Spec.StoppedBy {
		return err
	}
	before := p.rollout.DeepCopy()
	p.rollout.Spec.StoppedBy = stoppedBy
	return rollout.Patch(ctx, p.Client, before, p.rollout, "recording what stops")
}

// stopOf is the name of the attempt that stops the rollout: the recorded one as long as it does, and then the first that has not succeeded. Empty if there is none.
func (p *pass) stopOf(ctx context.Context, found []failedMachine) (string, error) {
	recorded := p.rollout.Spec.StoppedBy
	if slices.ContainsFunc(found, func(f failedMachine) bool { return f.attempt.Name == recorded }) {
		return recorded, nil
	}
	if stops, err := p.stops(ctx, recorded); err != nil || stops {
		return recorded, err
	}
	if len(found) > 0 {
		return found[0].attempt.Name, nil
	}
	return "", nil
}

// stops reports whether an attempt, read live, still stops the rollout: it is about to end, or has not ended well, on a machine of the rollout. One whose lost
// host reports again stops it until it has ended.
func (p *pass) stops(ctx context.Context, name string) (bool, error) {
	if name == "" {
		return false, nil
	}
	attempt, err := existing.Get(ctx, p.Live, &infrav1.ElementalHostUpgrade{}, p.of.Template.Namespace, name)
	if err != nil || attempt == nil {
		return false, err
	}
	phase := attempt.PhaseNow()
	hasEndedWell := phase == infrav1.UpgradeSucceeded || phase == infrav1.UpgradeSuperseded
	isReleased := phase == infrav1.UpgradeHostLost && attempt.Spec.Release
	isOurs := slices.ContainsFunc(p.of.Machines, func(machine Machine) bool { // those of the other driver, too
		isThere := phase.IsEnd() && owner.NotedRollout(machine.Elemental) != p.rollout.Name // its host has reached the OS in another way
		return machine.Elemental.Name == attempt.Spec.ElementalMachineName && !isThere
	})
	return !hasEndedWell && !isReleased && isOurs && !attempts.IsAwaitedByRancher(attempt), nil
}
