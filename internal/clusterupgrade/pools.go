// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package clusterupgrade

import (
	"cmp"
	"context"
	"slices"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/association"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/clusterview"
)

const (
	// ControlPlanePool is the name of the pool of all Machines of a control plane.
	ControlPlanePool = "control-plane"
	// allPools in a stage stands for all pools.
	allPools = "*"
)

// Pool is a group of Machines by which an order is written.
type Pool struct {
	// Name of the pool.
	Name string
	// Templates are the ElementalMachineTemplates that a person would patch to upgrade it, by name.
	Templates []*infrav1.ElementalMachineTemplate
	// Members are its Machines, by name.
	Members []Member
}

// PoolOf names the pool of a Machine.
func PoolOf(machine *clusterv1.Machine) string {
	if util.IsControlPlaneMachine(machine) {
		return ControlPlanePool
	}
	return cmp.Or(machine.Labels[clusterv1.ClusterTopologyMachineDeploymentNameLabel], machine.Labels[clusterv1.MachineDeploymentNameLabel], machine.Name)
}

// IsMistakenForControlPlane reports whether a Machine is in the pool of the control plane because its MachineDeployment has that name.
func IsMistakenForControlPlane(machine *clusterv1.Machine) bool {
	return PoolOf(machine) == ControlPlanePool && !util.IsControlPlaneMachine(machine)
}

// reading reads the pools of a Cluster for an upgrade.
type reading struct {
	client  client.Reader
	view    *clusterview.View
	upgrade *infrav1.ElementalClusterUpgrade
	// slots that are taken now.
	slots []infrav1.UpgradeSlot
}

// pools of the Cluster, by name. Machines that are being deleted, or are not ours, are in none.
func (r *reading) pools(ctx context.Context) ([]Pool, error) {
	machines, err := r.view.Machines(ctx)
	if err != nil {
		return nil, err
	}
	byName := map[string]*Pool{}
	for i := range machines {
		machine := &machines[i]
		ref := machine.Spec.InfrastructureRef
		if !machine.DeletionTimestamp.IsZero() || !association.NamesElementalMachine(ref) {
			continue
		}
		elemental, err := r.view.ElementalMachine(ctx, ref.Name)
		if err != nil {
			return nil, err
		}
		if elemental == nil || !elemental.DeletionTimestamp.IsZero() {
			continue
		}
		if err := r.add(ctx, byName, machine, elemental); err != nil {
			return nil, err
		}
	}
	found := make([]Pool, 0, len(byName))
	for _, pool := range byName {
		slices.SortFunc(pool.Members, func(a, b Member) int { return cmp.Compare(a.Machine.Name, b.Machine.Name) })
		slices.SortFunc(pool.Templates, func(a, b *infrav1.ElementalMachineTemplate) int { return cmp.Compare(a.Name, b.Name) })
		found = append(found, *pool)
	}
	slices.SortFunc(found, func(a, b Pool) int { return cmp.Compare(a.Name, b.Name) })
	return found, nil
}

func (r *reading) add(ctx context.Context, into map[string]*Pool, machine *clusterv1.Machine, elemental *infrav1.ElementalMachine) error {
	name := PoolOf(machine)
	if into[name] == nil {
		into[name] = &Pool{Name: name}
	}
	pool := into[name]
	want, _, err := r.view.WantsOS(ctx, machine)
	if err != nil {
		return err
	}
	template := want.Template
	if template != nil && !slices.ContainsFunc(pool.Templates, isNamed(template.Name)) {
		pool.Templates = append(pool.Templates, template)
	}
	member, err := r.member(ctx, machine, elemental, template)
	if err != nil {
		return err
	}
	member.Template = template
	pool.Members = append(pool.Members, member)
	return nil
}

func isNamed(name string) func(*infrav1.ElementalMachineTemplate) bool {
	return func(template *infrav1.ElementalMachineTemplate) bool { return template.Name == name }
}
