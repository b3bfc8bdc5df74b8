// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package direct

import (
	"context"
	"fmt"
	"slices"

	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/existing"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/owner"
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
	stoppedBy := p.rollout.Spec.StoppedBy
	if slices.ContainsFunc(found, func(f failedMachine) bool { return f.attempt.Name == stoppedBy }) {
		return nil
	}
	if len(found) > 0 {
		stoppedBy = found[0].attempt.Name
	} else if stops, err := p.stops(ctx, stoppedBy); err != nil || stops {
		return err
	} else {
		stoppedBy = ""
	}
	if stoppedBy == p.rollout.Spec.StoppedBy {
		return nil
	}
	before := p.rollout.DeepCopy()
	p.rollout.Spec.StoppedBy = stoppedBy
	if err := p.Client.Patch(ctx, p.rollout, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})); err != nil {
		return fmt.Errorf("recording in ElementalRollout %s what stops it: %w", p.rollout.Name, err)
	}
	return nil
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
	isOurs := slices.ContainsFunc(p.machines, func(machine Machine) bool {
		isThere := phase.IsEnd() && owner.NotedRollout(machine.Elemental) != p.rollout.Name // its host has reached the OS in another way
		return machine.Elemental.Name == attempt.Spec.ElementalMachineName && !isThere
	})
	return !hasEndedWell && !isReleased && isOurs, nil
}
