// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package machine

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/attempts"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/condition"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/hoststate"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/managedos"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/osversion"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/owner"
)

// osFacts is all that UpToDate and OSDrifted are judged by.
type osFacts struct {
	machine *infrav1.ElementalMachine
	// owner is the Machine of the machine. Nil if there is none.
	owner *clusterv1.Machine
	// template the machine was made from. Nil if it is gone, or was never known.
	template *infrav1.ElementalMachineTemplate
	// host of the machine. Nil if it has none.
	host *infrav1.ElementalHost
	// unresolved is why the machine's OS is not known. Nil if it is.
	unresolved *managedos.Problem
	// upgrade is the name of the attempt that is in progress, last the newest attempt that there is.
	upgrade string
	last    *infrav1.ElementalHostUpgrade
	// held says which nodes the machine's turn waits for, because they are paused; empty where it does not.
	held string
}

// observeUpToDate compares the machine's OS with its template's content and with what is booted. Cluster
// API's own condition of that name follows the reference's name only.
func (r *Reconciler) observeUpToDate(ctx context.Context, s *scope) error {
	facts := osFacts{machine: s.machine, owner: s.owner, host: s.host, unresolved: s.unresolved}
	var err error
	if facts.template, err = r.clonedFrom(ctx, s.machine); err != nil {
		return err
	}
	facts.upgrade, facts.last = inProgress(s.attempts), attempts.Newest(s.attempts)
	if facts.held, err = r.heldBy(ctx, s, facts.upgrade); err != nil {
		return err
	}
	judgeUpToDate(facts)
	judgeDrift(facts)
	judgeMark(facts, s.mark, s.markRestored)
	return nil
}

func judgeUpToDate(f osFacts) {
	const upToDate = infrav1.OSUpToDateCondition
	m := f.machine
	switch {
	case f.upgrade != "" || f.isBeginning():
		// The attempt is not named: it is created moments after the update has begun, and the condition would be written once more.
		condition.False(m, upToDate, infrav1.UpgradeInProgressReason, "ElementalHost %s is being upgraded", hostName(m))
	case f.held != "":
		condition.False(m, upToDate, infrav1.WaitingForNodeReason, "Waiting for its turn: %s", f.held)
	case f.unresolved != nil:
		condition.False(m, upToDate, f.unresolved.Reason, "%s", f.unresolved.Message)
	case f.template != nil && !osversion.Same(templateOS(f.template), m.Spec.OSVersionManagement):
		condition.False(m, upToDate, infrav1.TemplateDiffersReason, "ElementalMachineTemplate %s asks for %s, the machine for %s",
			f.template.Name, describeOS(templateOS(f.template)), describeOS(m.Spec.OSVersionManagement))
	case osversion.Hash(m.Spec.OSVersionManagement) == "":
		condition.TrueBecause(m, upToDate, infrav1.OSNotManagedReason, "spec.osVersionManagement is not set")
	case f.host == nil:
		condition.Unknown(m, upToDate, infrav1.HostOSUnknownReason, "No ElementalHost serves the machine")
	default:
		judgeBooted(f)
	}
}

// isBeginning reports whether Cluster API has begun an update of the machine whose attempt is yet to come.
func (f osFacts) isBeginning() bool {
	return f.isMarked() && f.unresolved == nil && f.match() == hoststate.MatchOther &&
		(f.last == nil || !osversion.Same(f.last.Spec.OSVersionManagement, f.machine.Spec.OSVersionManagement))
}

func hostName(machine *infrav1.ElementalMachine) string {
	if machine.Spec.HostRef == nil {
		return ""
	}
	return machine.Spec.HostRef.Name
}

func judgeBooted(f osFacts) {
	const upToDate = infrav1.OSUpToDateCondition
	wanted := f.machine.Spec.OSVersionManagement
	switch hoststate.Runs(f.host, wanted) {
	case hoststate.MatchSame:
		condition.True(f.machine, upToDate)
	case hoststate.MatchOther:
		condition.False(f.machine, upToDate, infrav1.HostRunsOtherOSReason, "ElementalHost %s runs %s, and not %s",
			f.host.Name, hoststate.Describe(f.host), describeOS(wanted))
	default:
		condition.Unknown(f.machine, upToDate, infrav1.HostOSUnknownReason,
			"ElementalHost %s has not said that it runs %s", f.host.Name, describeOS(wanted))
	}
}

func templateOS(template *infrav1.ElementalMachineTemplate) infrav1.OSVersionManagement {
	return osversion.OfTemplate(template)
}

func describeOS(management infrav1.OSVersionManagement) string {
	version, err := osversion.Decode(management)
	if err == nil && version.ImageURI != "" {
		return version.ImageURI
	}
	if hash := osversion.Hash(management); hash != "" {
		return "osVersionManagement " + hash
	}
	return "no OS"
}

// clonedFrom returns the template that the machine was made from, by the annotations that Cluster API
// leaves on it. It returns nil if there is none.
func (r *Reconciler) clonedFrom(ctx context.Context, machine *infrav1.ElementalMachine) (*infrav1.ElementalMachineTemplate, error) {
	name := owner.MadeFrom(machine)
	if name == "" {
		return nil, nil
	}
	template := &infrav1.ElementalMachineTemplate{}
	err := r.Client.Get(ctx, client.ObjectKey{Namespace: machine.Namespace, Name: name}, template)
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading ElementalMachineTemplate %s: %w", name, err)
	}
	return template, nil
}

// inProgress is the name of the attempt that has not ended; empty if there is none. It is the first by name, so that no message depends on the order of a list.
func inProgress(among []infrav1.ElementalHostUpgrade) (name string) {
	for i := range among {
		if upgrade := &among[i]; upgrade.PhaseNow().IsActive() && (name == "" || upgrade.Name < name) {
			name = upgrade.Name
		}
	}
	return name
}
