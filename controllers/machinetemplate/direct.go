// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package machinetemplate

import (
	"context"
	"maps"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/attempts"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/direct"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/osversion"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/owner"
)

// observeOthers finds the Machines of the family whose owners are not rolled out by a reference. The driver of an owner whose Machines are being upgraded
// stays the same.
func (r *Reconciler) observeOthers(ctx context.Context, seen *observation) error {
	seen.others = newOthers()
	found, err := r.find(ctx, seen)
	if err != nil {
		return err
	}
	for i := range found {
		driver, err := r.upgradedBy(ctx, found[i].Machine)
		if err != nil {
			return err
		}
		if driver == "" {
			driver = seen.rolledOutBy(found[i])
		}
		if driver != "" {
			seen.others.drivers[found[i].Owner] = driver
		}
	}
	wanted := osversion.OfTemplate(seen.template)
	for i := range found {
		isBehind := !osversion.Same(found[i].Elemental.Spec.OSVersionManagement, wanted)
		if isBehind && seen.hasUnrolled(found[i].Elemental) {
			found[i].MadeWith = osversion.Hash(found[i].Elemental.Spec.OSVersionManagement)
		}
		seen.others.add(found[i], isBehind)
	}
	return nil
}

// hasUnrolled reports whether a machine was made from the template before a change that Cluster API has not rolled out to its MachineDeployment, as where
// something was in the way.
func (o *observation) hasUnrolled(machine *infrav1.ElementalMachine) bool {
	return o.outdated && isOfMachineDeployment(machine) && owner.MadeFrom(machine) == o.template.Name
}

func isOfMachineDeployment(machine *infrav1.ElementalMachine) bool {
	return machine.Labels[clusterv1.MachineDeploymentNameLabel] != ""
}

// find the Machines that were made from the clones or the template itself, but those of MachineDeployments that Cluster API rolls out.
func (r *Reconciler) find(ctx context.Context, seen *observation) ([]direct.Candidate, error) {
	finder, found := direct.NewFinder(r.Owners), []direct.Candidate{}
	for _, name := range slices.Sorted(maps.Keys(seen.clones)) {
		machines, err := finder.MadeFrom(ctx, seen.clones[name])
		if err != nil {
			return nil, err
		}
		found = append(found, machines...)
	}
	machines, err := finder.MadeFrom(ctx, seen.template)
	return append(found, machines...), err
}

// rolledOutBy is the driver by which a rollout that has not ended reaches a Machine; empty if there is none. What Auto chooses for its owner
// stays the same until then, whatever becomes of feature gates and replicas: a rollout that a user has stopped would go on by the other
// way, and what has Machines replaced would not be reported. Whatever is chosen for a MachineDeployment, Cluster API brings its Machines to the clone that
// it refers to.
func (o *observation) rolledOutBy(machine direct.Candidate) infrav1.UpgradeDriver {
	switch {
	case machine.Choice.IsAuto && o.clones[owner.DirectTemplate(machine.Elemental)] != nil:
		return infrav1.DriverDirect
	case !machine.Choice.IsAuto && !isOfMachineDeployment(machine.Elemental):
		return ""
	}
	for _, of := range o.concerned {
		if owner.Describe(of) == machine.Owner && o.clones[owner.TemplateName(of)] != nil && owner.MadeFrom(machine.Elemental) != owner.TemplateName(of) {
			return infrav1.DriverClusterAPI
		}
	}
	return ""
}

// upgradedBy is the driver by which a Machine whose owner may have either is upgraded at the moment; empty if it is by none.
func (r *Reconciler) upgradedBy(ctx context.Context, machine direct.Machine) (infrav1.UpgradeDriver, error) {
	controller := metav1.GetControllerOf(machine.Machine)
	switch {
	case controller == nil || owner.NewControlPlane(controller.Kind) == nil && !isOfMachineDeployment(machine.Elemental):
		return "", nil
	case owner.IsUpdating(machine.Machine) || owner.IsUpdating(machine.Elemental):
		return infrav1.DriverClusterAPI, nil
	}
	made, err := attempts.OnElementalMachine(ctx, r.Client, machine.Elemental.Namespace, machine.Elemental.Name)
	if slices.ContainsFunc(made, func(u infrav1.ElementalHostUpgrade) bool {
		return u.Spec.Driver == infrav1.DriverDirect && u.PhaseNow().IsActive()
	}) {
		return infrav1.DriverDirect, err
	}
	return "", err
}

// isDirect reports whether the Machines of an owner are upgraded without a reference, or not at all.
func (r *Reconciler) isDirect(ctx context.Context, seen *observation, candidate owner.Owner) (bool, error) {
	if driver, known := seen.others.drivers[owner.Describe(candidate)]; known {
		return owner.WithoutReference(driver), nil
	}
	choice, err := r.Owners.DriverOfOwner(ctx, candidate)
	return owner.WithoutReference(choice.Driver) || choice.Driver == "", err
}

// driveDirect brings the rollout to the Machines that are upgraded without a reference one step further.
func (r *Reconciler) driveDirect(ctx context.Context, seen *observation) (err error) {
	driver := &direct.Driver{Client: r.Client, Live: r.Live, Drains: r.Drains, Namespaces: r.prover(), Recorder: r.Recorder, Clock: r.Owners.Clock}
	seen.others.result, err = driver.Reconcile(ctx, direct.Rollout{
		Template: seen.template, OS: osversion.OfTemplate(seen.template), Machines: seen.others.direct, Others: seen.others.notDirect,
		IsClone: func(name string) bool { return seen.clones[name] != nil },
		Clone: func(ctx context.Context, cluster *clusterv1.Cluster) (string, string, error) {
			name := seen.cloneIn(cluster.Name)
			why, err := r.ensureClone(ctx, seen, name, cluster)
			if why != nil {
				return name, why.message, err
			}
			return name, "", err
		},
	})
	return err
}
