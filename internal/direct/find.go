// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package direct

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/clusterview"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/osversion"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/owner"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/rancher"
)

// Candidate is a Machine of a template's family that may be upgraded without a reference of its owner, with what upgrades it.
type Candidate struct {
	Machine
	Choice owner.Choice
}

// Finder finds the Machines that a template may reach without a reference of their owners. It asks each owner once, and is for one
// reconcile or request.
type Finder struct {
	owners  *owner.Owners
	choices map[string]owner.Choice
}

// NewFinder reads through the cache of owners, which has the indexes of package clusterview.
func NewFinder(owners *owner.Owners) *Finder {
	return &Finder{owners: owners, choices: map[string]owner.Choice{}}
}

// MadeFrom are the Machines that were made from a template, but those of MachineDeployments that Cluster API rolls out. Those that are being deleted
// are left out.
func (f *Finder) MadeFrom(ctx context.Context, template *infrav1.ElementalMachineTemplate) ([]Candidate, error) {
	machines, err := clusterview.MadeFrom(ctx, f.owners.Client, template.Namespace, template.Name)
	if err != nil {
		return nil, err
	}
	hash, found := osversion.Hash(osversion.OfTemplate(template)), []Candidate{}
	for i := range machines {
		machine, err := f.machineOf(ctx, &machines[i])
		if err != nil {
			return nil, err
		}
		if machine == nil {
			continue
		}
		choice, err := f.driverOf(ctx, machine)
		if err != nil {
			return nil, err
		}
		found = append(found, Candidate{Choice: choice, Machine: Machine{
			Machine: machine, Elemental: machines[i].DeepCopy(), Owner: choice.Owner, Driver: choice.Driver, MadeWith: hash,
		}})
	}
	return found, nil
}

// machineOf an ElementalMachine; nil if it has none, one of the two is being deleted, or Cluster API rolls out its MachineDeployment.
func (f *Finder) machineOf(ctx context.Context, elemental *infrav1.ElementalMachine) (*clusterv1.Machine, error) {
	isLeft, err := f.isLeftToClusterAPI(ctx, elemental)
	if err != nil || isLeft || !elemental.DeletionTimestamp.IsZero() {
		return nil, err
	}
	machine, err := clusterview.New(f.owners.Client, clusterview.ClusterOf(elemental)).MachineOf(ctx, elemental)
	if err != nil || machine == nil || !machine.DeletionTimestamp.IsZero() {
		return nil, err
	}
	return machine, nil
}

// isLeftToClusterAPI reports whether a machine is of a MachineDeployment that Cluster API rolls out, and driver Direct does not have it.
func (f *Finder) isLeftToClusterAPI(ctx context.Context, elemental *infrav1.ElementalMachine) (bool, error) {
	name := elemental.Labels[clusterv1.MachineDeploymentNameLabel]
	if name == "" || rancher.MayOwn(elemental) || owner.IsDirect(elemental) {
		return false, nil
	}
	of := clusterview.ClusterOf(elemental)
	choice, err := f.once(owner.MachineDeploymentKind+" "+name, func() (owner.Choice, error) {
		return f.owners.DriverOfMachineDeployment(ctx, of.Namespace, of.Name, name)
	})
	return choice.Driver == infrav1.DriverClusterAPI, err
}

// driverOf chooses the driver of a Machine.
func (f *Finder) driverOf(ctx context.Context, machine *clusterv1.Machine) (owner.Choice, error) {
	key := machine.Name
	if controller := metav1.GetControllerOf(machine); controller != nil {
		key = controller.Kind + " " + controller.Name
	}
	if name := machine.Labels[clusterv1.MachineDeploymentNameLabel]; name != "" {
		key = owner.MachineDeploymentKind + " " + name
	}
	return f.once(key, func() (owner.Choice, error) { return f.owners.DriverOf(ctx, machine) })
}

func (f *Finder) once(key string, choose func() (owner.Choice, error)) (owner.Choice, error) {
	if choice, asked := f.choices[key]; asked {
		return choice, nil
	}
	choice, err := choose()
	if err == nil {
		f.choices[key] = choice
	}
	return choice, err
}
