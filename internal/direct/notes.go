// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package direct

import (
	"context"

	"sigs.k8s.io/cluster-api/util/annotations"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
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
		template, hash := p.of.Template.Name, p.hash
		if owner.IsNoted(machine) && !p.isRotated(machine) {
			if owner.IsNoteKnown(machine) {
				continue
			}
			if !p.isAtRest(&p.machines[i]) {
				template, hash = owner.NotedTemplate(machine), owner.NotedOS(machine)
			}
		}
		if err := p.note(ctx, machine, template, hash); err != nil {
			return err
		}
	}
	return nil
}

// isNew reports whether a machine has neither a host nor a note. The controller of ElementalMachines notes what it was made with before it has a host.
func isNew(machine *infrav1.ElementalMachine) bool {
	return machine.Spec.HostRef == nil && !owner.IsNoted(machine)
}

// isRotated reports whether its owner has brought a machine to the template from another one, to which this driver had brought it: the note is about
// that one. Where both have the same OS, the host has reached it; a note about a clone that is gone is not one about another template.
func (p *pass) isRotated(machine *infrav1.ElementalMachine) bool {
	template := owner.NotedTemplate(machine)
	isOther := template != "" && template != p.of.Template.Name && !p.of.IsClone(template)
	isThere := !p.isNoted(machine) || owner.ReachedOS(machine) == p.hash
	return isOther && isThere && osversion.Same(machine.Spec.OSVersionManagement, p.of.OS)
}

func (p *pass) isNoted(machine *infrav1.ElementalMachine) bool {
	return owner.NotedOS(machine) == p.hash
}

// recordDone notes that nothing is rolled out to machines any more.
func (p *pass) recordDone(ctx context.Context, machines []*Machine) error {
	for _, machine := range machines {
		if err := p.note(ctx, machine.Elemental, p.of.Template.Name, p.hash); err != nil {
			return err
		}
	}
	return nil
}

// assign the content of the template to all machines that have another. The rollout has begun for all of them then: what their
// attempts are for, and which nodes are paused, follows from it.
func (p *pass) assign(ctx context.Context) (*inplace.Problem, error) {
	clone := ""
	for i := range p.machines {
		machine := p.machines[i].Elemental
		if p.isAssigned(machine) {
			continue
		}
		if clone == "" {
			name, problem, err := p.clone(ctx)
			if problem != nil || err != nil {
				return problem, err
			}
			clone = name
		}
		if err := p.note(ctx, machine, clone, p.hash); err != nil {
			return nil, err
		}
	}
	return nil, nil
}

// isAssigned reports whether a machine is brought to the content of the template, or is there. One whose clone is gone is not: nothing says
// then what it is brought to.
func (p *pass) isAssigned(machine *infrav1.ElementalMachine) bool {
	template := owner.NotedTemplate(machine)
	return p.isNoted(machine) && (template == p.of.Template.Name || p.of.IsClone(template))
}

// clone is the one that machines of the Cluster were assigned to already, or a new one. Its name follows from the UID of the template,
// which a move to another management cluster changes.
func (p *pass) clone(ctx context.Context) (string, *inplace.Problem, error) {
	for _, machine := range p.machines {
		if template := owner.NotedTemplate(machine.Elemental); p.isAssigned(machine.Elemental) && template != p.of.Template.Name {
			return template, nil, nil
		}
	}
	cluster, problem, err := p.mayStart(ctx)
	if problem != nil || err != nil {
		return "", problem, err
	}
	name, why, err := p.of.Clone(ctx, cluster)
	switch {
	case err != nil:
		return "", nil, err
	case why != "":
		return "", &inplace.Problem{Reason: infrav1.BlockedReason, Message: why}, nil
	}
	return name, nil, nil
}

// note on a machine which template it is brought to. One that is paused is not written.
func (p *pass) note(ctx context.Context, machine *infrav1.ElementalMachine, template, hash string) error {
	before := machine.DeepCopy()
	if annotations.HasPaused(machine) || !owner.Note(machine, template, hash) {
		return nil
	}
	return p.patch(ctx, before, machine, "recording the rollout on")
}
