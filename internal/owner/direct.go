// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package owner

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/association"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/existing"
)

// IsDirect reports whether driver Direct, or RancherDrain, upgrades the host of a machine. Cluster API does not update such a machine, and what
// repairs its updates must leave it alone.
func IsDirect(machine *infrav1.ElementalMachine) bool { return DirectTemplate(machine) != "" }

// DirectTemplate is the ElementalMachineTemplate whose content driver Direct brings a machine to, or has found it with; empty if
// the machine is not upgraded by it.
func DirectTemplate(machine *infrav1.ElementalMachine) string {
	return machine.Annotations[infrav1.DirectTemplateAnnotation]
}

// DirectTemplateOf is DirectTemplateIn of the ElementalMachine of a Machine, which is read.
func DirectTemplateOf(ctx context.Context, reader client.Reader, machine *clusterv1.Machine) (string, error) {
	ref := machine.Spec.InfrastructureRef
	if !association.NamesElementalMachine(ref) {
		return "", nil
	}
	elemental, err := existing.Get(ctx, reader, &infrav1.ElementalMachine{}, machine.Namespace, ref.Name, client.UnsafeDisableDeepCopy)
	if err != nil {
		return "", existing.UnlessAbsent(err, "reading ElementalMachine "+ref.Name)
	}
	return DirectTemplateIn(machine, elemental), nil
}

// DirectTemplateIn is DirectTemplate of the ElementalMachine of a Machine, which may be nil. It is empty while Cluster API updates the Machine, which its
// owner's reference determines.
func DirectTemplateIn(machine *clusterv1.Machine, elemental *infrav1.ElementalMachine) string {
	if elemental == nil || !IsLeftToDirect(machine, elemental) {
		return ""
	}
	return DirectTemplate(elemental)
}

// IsOfMachineSet reports whether a MachineSet controls a Machine.
func IsOfMachineSet(machine *clusterv1.Machine) bool {
	controller := metav1.GetControllerOf(machine)
	return controller != nil && controller.Kind == machineSetKind
}

// IsLeftToDirect reports whether driver Direct upgrades the host of a machine, and Cluster API does not update it at the moment, as it may
// until its last update has ended.
func IsLeftToDirect(machine *clusterv1.Machine, elemental *infrav1.ElementalMachine) bool {
	return IsDirect(elemental) && !IsUpdating(elemental) && !IsUpdating(machine)
}
