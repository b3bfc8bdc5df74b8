// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package clusterview

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/association"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/hoststate"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/owner"
)

// Want is what an owner wants.
type Want struct {
	owner.Want
	// OS is its OSVersionManagement, decoded.
	OS hoststate.Wanted
}

type answer struct {
	want  Want
	found bool
}

// WantsOS is owner.WantsOS. It is read once for all Machines of an owner or, where the note counts, with the same note.
func (v *View) WantsOS(ctx context.Context, machine *clusterv1.Machine) (want Want, found bool, err error) {
	key, err := v.wantedBy(ctx, machine)
	if err != nil || key == "" {
		return Want{}, false, err
	}
	if known, asked := v.wants[key]; asked {
		return known.want, known.found, nil
	}
	if want.Want, found, err = owner.WantsOS(ctx, v.reader, machine); err != nil {
		return Want{}, false, err
	}
	want.OS = hoststate.Decode(want.OSVersionManagement)
	if v.wants == nil {
		v.wants = map[string]answer{}
	}
	v.wants[key] = answer{want, found}
	return want, found, nil
}

// wantedBy is what Machines have in common that want the same OS; empty if nothing says what a Machine wants.
func (v *View) wantedBy(ctx context.Context, machine *clusterv1.Machine) (string, error) {
	controller := metav1.GetControllerOf(machine)
	if owner.IsOfMachineSet(machine) { // whose note says nothing
		return controller.Kind + "/" + controller.Name, nil
	}
	elemental, err := v.elementalOf(ctx, machine)
	noted := owner.NotedTemplateIn(machine, elemental)
	if err != nil || controller == nil {
		return noted, err
	}
	return controller.Kind + "/" + controller.Name + "/" + noted, nil
}

// elementalOf a Machine; nil if it has none. The first one that is asked for is read by itself, and for a second one all are listed: a View is for one Machine,
// or for all of a Cluster.
func (v *View) elementalOf(ctx context.Context, machine *clusterv1.Machine) (*infrav1.ElementalMachine, error) {
	ref := machine.Spec.InfrastructureRef
	if !association.NamesElementalMachine(ref) {
		return nil, nil
	}
	if v.firstAsked == "" || v.firstAsked == ref.Name {
		v.firstAsked = ref.Name
		return v.ElementalMachine(ctx, ref.Name)
	}
	all, err := v.ElementalMachines(ctx)
	if err != nil {
		return nil, err
	}
	if v.byName == nil {
		v.byName = make(map[string]*infrav1.ElementalMachine, len(all))
		for i := range all {
			v.byName[all[i].Name] = &all[i]
		}
	}
	return v.byName[ref.Name], nil
}
