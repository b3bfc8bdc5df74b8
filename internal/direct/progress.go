// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package direct

import (
	"context"
	"fmt"
	"slices"

	"sigs.k8s.io/cluster-api/util/annotations"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/association"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/attempts"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/existing"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/hoststate"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/osversion"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/owner"
)

// progress of a rollout in a Cluster.
type progress struct {
	// hasUnfinished says that an attempt, whatever for, has not ended, or that a host has not joined yet.
	hasUnfinished bool
	// inService are the machines whose attempts wait for a drain of Rancher, or prepare for it.
	inService []*Machine
	// failed are the machines whose attempts have not succeeded.
	failed []failedMachine
	// done are the machines whose hosts have reached the OS.
	done []*Machine
	// paused are machines that a user has paused themselves, and that are not written.
	paused []*Machine
	// pending machines have no attempt yet.
	pending []*Machine
}

// isBusy reports whether what the rollout waits for may change without an event.
func (p *progress) isBusy() bool { return p.hasUnfinished || len(p.pending) > 0 }

func (p *pass) look(ctx context.Context) (progress, error) {
	found := progress{}
	for i := range p.machines {
		machine := &p.machines[i]
		all, err := attempts.OnElementalMachine(ctx, p.Client, machine.Elemental.Namespace, machine.Elemental.Name)
		if err != nil {
			return found, err
		}
		machine.attempts = all
		switch {
		case p.lookAtUnfinished(machine, all, &found):
			continue
		case annotations.HasPaused(machine.Elemental) && p.isBehind(machine):
			found.paused = append(found.paused, machine)
			continue
		case p.isAtRest(machine):
			continue
		}
		if err := p.lookAt(ctx, machine, all, &found); err != nil {
			return found, err
		}
	}
	return found, nil
}

// lookAtUnfinished reports whether an attempt on a machine, whatever for, has not ended: another one would wait for it.
func (p *pass) lookAtUnfinished(machine *Machine, all []infrav1.ElementalHostUpgrade, found *progress) bool {
	unfinished := slices.IndexFunc(all, func(u infrav1.ElementalHostUpgrade) bool { return !u.PhaseNow().IsEnd() })
	if unfinished < 0 {
		return false
	}
	switch attempt := &all[unfinished]; {
	case attempt.PhaseNow() != infrav1.UpgradeHostLost:
		found.hasUnfinished = true
		if awaitsDrain(attempt) {
			found.inService = append(found.inService, machine)
		}
	case !attempt.Spec.Release:
		found.failed = append(found.failed, failedMachine{machine, attempt})
	}
	return true
}

// awaitsDrain reports whether an attempt waits for a drain of Rancher, or prepares for it. One whose host runs the OS already is assessed at once.
func awaitsDrain(attempt *infrav1.ElementalHostUpgrade) bool {
	held := attempts.FirstHold(attempt)
	return (held == nil || held.Reason == infrav1.HoldRancherNotDraining) && !attempts.HasStarted(attempt) && !attempts.HasEntered(attempt, attempts.StepAssess)
}

// lookAt a machine that something is rolled out to, and that no attempt is under way on.
func (p *pass) lookAt(ctx context.Context, machine *Machine, all []infrav1.ElementalHostUpgrade, found *progress) error {
	host, err := existing.Get(ctx, p.Client, &infrav1.ElementalHost{}, machine.Elemental.Namespace, association.Recorded(machine.Elemental))
	if err != nil {
		return err
	}
	machine.host = host
	last := p.lastIn(owner.NotedRollout(machine.Elemental), all)
	switch {
	case p.isMadeWithIt(machine, host), hoststate.Joined(host) && p.isDone(machine, last, attempts.LastAtWork(all), host):
		found.done = append(found.done, machine)
	case hasFailed(last):
		found.failed = append(found.failed, failedMachine{machine, last})
	case !hoststate.Joined(host):
		found.hasUnfinished = true
	default:
		found.pending = append(found.pending, machine)
	}
	return nil
}

// failure says which attempt has not succeeded, and what to do.
func (p *pass) failure(of failedMachine) string {
	machine, attempt := of.machine, of.attempt
	const again = "to try again, delete the ElementalHostUpgrade"
	how, remedy := "ended as "+string(attempt.PhaseNow()), "patch the template to another image or, "+again
	switch attempt.PhaseNow() {
	case infrav1.UpgradeRolledBack:
		remedy = "patch the template to another image or, to try this one again, remove its digest from spec.quarantine of the ElementalCluster and " +
			"delete the ElementalHostUpgrade"
	case infrav1.UpgradeHostLost:
		how, remedy = "is HostLost", "bring the host back, delete Machine "+machine.Machine.Name+", or set spec.release to go on without it"
	case infrav1.UpgradeAborted:
		remedy = again
	default:
	}
	stopped := "No other Machine of this template in Cluster " + p.cluster + " is upgraded"
	if p.driver == infrav1.DriverRancherDrain {
		without := ""
		stopped, without = p.stoppedInDrains(attempt)
		remedy += without
	}
	return fmt.Sprintf("ElementalHostUpgrade %s of Machine %s %s: %s. %s: %s", attempt.Name, machine.Machine.Name, how, attempt.Status.Message, stopped, remedy)
}

// lastIn is the last of the attempts on a machine in a rollout; nil if there is none. One of another OS was made up.
func (p *pass) lastIn(rollout string, all []infrav1.ElementalHostUpgrade) *infrav1.ElementalHostUpgrade {
	return attempts.NewestWhere(all, func(attempt *infrav1.ElementalHostUpgrade) bool {
		return attempt.Spec.RolloutName == rollout && osversion.Same(attempt.Spec.OSVersionManagement, p.of.OS)
	})
}

// isMadeWithIt reports whether a machine specifies the OS, and its host is no node yet: it will be made one with that.
func (p *pass) isMadeWithIt(machine *Machine, host *infrav1.ElementalHost) bool {
	isNoNode := machine.Elemental.Spec.HostRef == nil || host != nil && hoststate.Reported(host) && !hoststate.Bootstrapped(host)
	return isNoNode && osversion.Same(machine.Elemental.Spec.OSVersionManagement, p.of.OS)
}

// isBehind reports whether something is to be rolled out to a machine, or is.
func (p *pass) isBehind(machine *Machine) bool {
	return owner.IsNoted(machine.Elemental) && (!p.isAtRest(machine) || !p.isAssigned(machine.Elemental))
}

// isAtRest reports whether nothing is rolled out to a machine: nothing was since it was first seen, or its host has reached the OS. One
// whose host runs another has drifted, which is no reason to begin.
func (p *pass) isAtRest(machine *Machine) bool {
	return owner.NotedTemplate(machine.Elemental) == p.of.Template.Name && owner.NotedRollout(machine.Elemental) == ""
}

// isDone reports whether what is rolled out to a machine has reached its host: by its last attempt, or by the newest one, which may be Cluster API's. A former
// attempt does not count for one that asks for another OS by now.
func (p *pass) isDone(machine *Machine, last, newest *infrav1.ElementalHostUpgrade, host *infrav1.ElementalHost) bool {
	if !osversion.Same(machine.Elemental.Spec.OSVersionManagement, p.of.OS) {
		return false
	}
	return hasSucceeded(last) || hasSucceeded(newest) && osversion.Same(newest.Spec.OSVersionManagement, p.of.OS) || isReached(host, p.of.OS)
}

func hasSucceeded(attempt *infrav1.ElementalHostUpgrade) bool {
	return attempt != nil && attempt.PhaseNow() == infrav1.UpgradeSucceeded
}

// hasFailed reports whether an attempt has not reached its OS. One that was superseded makes room for another.
func hasFailed(attempt *infrav1.ElementalHostUpgrade) bool {
	return attempt != nil && slices.Contains([]infrav1.UpgradePhase{
		infrav1.UpgradeRolledBack, infrav1.UpgradeFailed, infrav1.UpgradeAborted,
	}, attempt.PhaseNow())
}
