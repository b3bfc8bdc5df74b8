// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package direct

import (
	"context"
	"errors"
	"fmt"

	"sigs.k8s.io/cluster-api/util/annotations"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/capiworkaround"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/inplace"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/osversion"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/owner"
)

// record notes the content of the template on machines that are first seen, which is not rolled out to them: only a later change of the template is. A
// note about another template is renewed when the owner has brought the machine to this one. One in another form, which another version of the manager has
// written, is renewed as if the machine were first seen or, during a rollout to it, from what it specifies by now: the rollout continues.
func (p *pass) record(ctx context.Context) error {
	for i := range p.machines {
		machine := p.machines[i].Elemental
		template, hash, rollout := p.of.Template.Name, p.hash, ""
		if owner.IsNoted(machine) && !p.isRotated(machine) {
			if owner.IsNoteKnown(machine) {
				continue
			}
			if !p.isAtRest(&p.machines[i]) {
				template, hash, rollout = owner.NotedTemplate(machine), owner.NotedOS(machine), owner.NotedRollout(machine)
			}
		}
		note(&p.machines[i], template, hash, rollout)
		if err := p.save(ctx, &p.machines[i]); err != nil {
			return err
		}
	}
	return nil
}

// IsNew reports whether a machine has neither a host nor a note. The controller of ElementalMachines notes what it was made with before it has a host.
func IsNew(machine *infrav1.ElementalMachine) bool {
	return machine.Spec.HostRef == nil && !owner.IsNoted(machine)
}

// isRotated reports whether its owner has brought a machine to the template from another one, to which this driver had brought it: the note is about
// that one. Where both have the same OS, the host has reached it.
func (p *pass) isRotated(machine *infrav1.ElementalMachine) bool {
	template := owner.NotedTemplate(machine)
	isOther := template != "" && template != p.of.Template.Name
	isThere := !p.isNoted(machine) || owner.ReachedOS(machine) == p.hash
	return isOther && isThere && osversion.Same(machine.Spec.OSVersionManagement, p.of.OS)
}

func (p *pass) isNoted(machine *infrav1.ElementalMachine) bool {
	return owner.NotedOS(machine) == p.hash
}

// recordDone notes that nothing is rolled out to machines any more, and which of their hosts run the OS.
func (p *pass) recordDone(ctx context.Context, machines []*Machine) error {
	for _, machine := range machines {
		if note(machine, p.of.Template.Name, p.hash, "") && machine.host != nil {
			capiworkaround.RecordReached(machine.Elemental, machine.host)
		}
		if err := p.save(ctx, machine); err != nil {
			return err
		}
	}
	return nil
}

// assign the content of the template to all machines that have another. The rollout has begun for all of them then: what their
// attempts are for, and which nodes are paused, follows from it. What is noted is written with the OS of those that are requested, and at the end of the step.
func (p *pass) assign(ctx context.Context) (*inplace.Problem, error) {
	for i := range p.machines {
		if p.isAssigned(p.machines[i].Elemental) {
			continue
		}
		if p.rollout == nil {
			if problem, err := p.begin(ctx); problem != nil || err != nil {
				return problem, err
			}
		}
		note(&p.machines[i], p.of.Template.Name, p.hash, p.rollout.Name)
	}
	return nil, nil
}

// saveAll writes what is noted and not written yet.
func (p *pass) saveAll(ctx context.Context) error {
	errs := []error{}
	for i := range p.machines {
		errs = append(errs, p.save(ctx, &p.machines[i]))
	}
	return errors.Join(errs...)
}

// isAssigned reports whether a machine is brought to the content of the template by the current rollout, or is there.
func (p *pass) isAssigned(machine *infrav1.ElementalMachine) bool {
	by := owner.NotedRollout(machine)
	isCurrent := p.rollout != nil && by == p.rollout.Name
	return p.isNoted(machine) && owner.NotedTemplate(machine) == p.of.Template.Name && (by == "" || isCurrent)
}

// begin the rollout in the Cluster.
func (p *pass) begin(ctx context.Context) (*inplace.Problem, error) {
	cluster, problem, err := p.mayStart(ctx)
	if problem != nil || err != nil {
		return problem, err
	}
	p.rollout, err = p.of.Begin(ctx, cluster)
	return nil, err
}

// note on a machine what it is brought to, and by which rollout, and report whether that is a change. One that is paused is not changed.
func note(machine *Machine, template, hash, rollout string) bool {
	before := machine.Elemental.DeepCopy()
	if annotations.HasPaused(before) || !owner.Note(machine.Elemental, template, hash, rollout) {
		return false
	}
	machine.rememberRead(before)
	return true
}

// rememberRead keeps the ElementalMachine as it was read, before the first change of a pass.
func (m *Machine) rememberRead(before *infrav1.ElementalMachine) {
	if m.asRead == nil {
		m.asRead = before
	}
}

// save writes what has changed, with the resourceVersion that was read: another replica, or Cluster API, may write at the same moment.
func (d *Driver) save(ctx context.Context, machine *Machine) error {
	if machine.asRead == nil {
		return nil
	}
	patch := client.MergeFromWithOptions(machine.asRead, client.MergeFromWithOptimisticLock{})
	if err := d.Client.Patch(ctx, machine.Elemental, patch); err != nil {
		return fmt.Errorf("writing ElementalMachine %s: %w", machine.Elemental.Name, err)
	}
	machine.asRead = nil
	return nil
}
