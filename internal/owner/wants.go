// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package owner

import (
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/existing"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/osversion"
)

// Want is the OS that a Machine's owner wants for it.
type Want struct {
	// TemplateName is the ElementalMachineTemplate that the owner refers to or, where no owner says, the one that is noted on its ElementalMachine.
	TemplateName string
	// OSVersionManagement is that of the template, with the image of its ManagedOSVersion.
	OSVersionManagement infrav1.OSVersionManagement
	// Template is the template as it was read.
	Template *infrav1.ElementalMachineTemplate

	// reference is what the owner refers to, whether or not it is such a template, or was found; empty if there is no
	// such owner.
	reference clusterv1.ContractVersionedObjectReference
	// isNoted says that no owner refers to the template: the note of the machine does.
	isNoted bool
}

// WantsOS returns the OS that the owner of a Machine wants, according to the reader. During a rollout it may differ from the OS that the Machine is
// being updated to. found is false if it is unknown; see Want.Unknown: there is no such owner and no note, or the template is
// missing or of another kind.
func WantsOS(ctx context.Context, reader client.Reader, machine *clusterv1.Machine) (want Want, found bool, err error) {
	named, err := wantedReference(ctx, reader, machine)
	if err != nil || named == nil {
		return Want{}, false, err
	}
	want = *named
	if !isOurTemplate(want.reference) {
		return want, false, nil
	}
	want.Template, err = existing.Get(ctx, reader, &infrav1.ElementalMachineTemplate{}, machine.Namespace, want.reference.Name)
	if err != nil || want.Template == nil {
		return want, false, err
	}
	want.TemplateName, want.OSVersionManagement = want.Template.Name, osversion.OfTemplate(want.Template)
	return want, true, nil
}

// MissingTemplate is the name of the ElementalMachineTemplate that is wanted and does not exist; empty if it exists, or none is named.
func (w Want) MissingTemplate() string {
	if w.Template != nil || !isOurTemplate(w.reference) {
		return ""
	}
	return w.reference.Name
}

// Unknown describes why WantsOS has not found what the owner of a Machine wants, and what to do.
func (w Want) Unknown(machine *clusterv1.Machine) string {
	const kinds = "nothing is rolled out to it for a patched template: see condition RolloutBlocked of the ElementalMachineTemplate that it was made from"
	if w.isNoted {
		return fmt.Sprintf("ElementalMachineTemplate %s, which is noted on the ElementalMachine of Machine %s, does not exist: recreate it, or delete the Machine",
			w.reference.Name, machine.Name)
	}
	controller := metav1.GetControllerOf(machine)
	if controller == nil {
		return fmt.Sprintf("Machine %s has no owner that determines its OS: %s", machine.Name, kinds)
	}
	if controller.Kind != machineSetKind && NewControlPlane(controller.Kind) == nil {
		return fmt.Sprintf("cannot determine the OS that %s %s, the owner of Machine %s, wants: %s", controller.Kind, controller.Name, machine.Name, kinds)
	}
	the := fmt.Sprintf("%s %s, the owner of Machine %s,", controller.Kind, controller.Name, machine.Name)
	if controller.Kind == machineSetKind {
		the += " or its MachineDeployment"
	}
	switch named := w.reference; {
	case named.Name == "":
		return the + " does not exist: recreate it, or delete the Machine"
	case !isOurTemplate(named):
		return fmt.Sprintf("%s names %s %s of %s in its infrastructureRef, and only an ElementalMachineTemplate of %s says which OS is wanted: "+
			"have it name one, or delete the Machine", the, named.Kind, named.Name, named.APIGroup, infrav1.GroupVersion.Group)
	default:
		return fmt.Sprintf("%s names ElementalMachineTemplate %s in its infrastructureRef, which does not exist: "+
			"recreate it, or delete the Machine", the, named.Name)
	}
}

func isOurTemplate(named clusterv1.ContractVersionedObjectReference) bool {
	return named.APIGroup == infrav1.GroupVersion.Group && named.Kind == ElementalMachineTemplateKind
}

// wantedReference is a Want with the reference to the template with the OS, and who has set it. It is nil if nothing says which one it is.
func wantedReference(ctx context.Context, reader client.Reader, machine *clusterv1.Machine) (*Want, error) {
	byOwner, err := ownersReference(ctx, reader, machine)
	if err != nil || byOwner != nil || IsOfMachineSet(machine) { // a MachineSet that is gone says nothing any more
		return byOwner, err
	}
	noted, err := NotedTemplateOf(ctx, reader, machine)
	if err != nil || noted == "" {
		return nil, err
	}
	return &Want{reference: templateNamed(noted), isNoted: true}, nil
}

func templateNamed(name string) clusterv1.ContractVersionedObjectReference {
	return clusterv1.ContractVersionedObjectReference{APIGroup: infrav1.GroupVersion.Group, Kind: ElementalMachineTemplateKind, Name: name}
}

func ownersReference(ctx context.Context, reader client.Reader, machine *clusterv1.Machine) (*Want, error) {
	controller := metav1.GetControllerOf(machine)
	if controller == nil {
		return nil, nil
	}
	key := client.ObjectKey{Namespace: machine.Namespace, Name: controller.Name}
	if controller.Kind == machineSetKind {
		return wantedByMachineSet(ctx, reader, key)
	}
	controlPlane, isOne := ForControlPlane(NewControlPlane(controller.Kind))
	if !isOne {
		return nil, nil
	}
	if err := reader.Get(ctx, key, controlPlane.Object()); err != nil {
		return nil, existing.UnlessAbsent(err, "reading "+controller.Kind+" "+key.Name)
	}
	return &Want{reference: controlPlane.reference()}, nil
}

// wantedByMachineSet reads the MachineDeployment, because a MachineSet keeps the template that it was created for.
func wantedByMachineSet(ctx context.Context, reader client.Reader, key client.ObjectKey) (*Want, error) {
	set := &clusterv1.MachineSet{}
	if err := reader.Get(ctx, key, set); err != nil {
		return nil, existing.UnlessAbsent(err, "reading MachineSet "+key.Name)
	}
	controller := metav1.GetControllerOf(set)
	if controller == nil || controller.Kind != MachineDeploymentKind {
		return &Want{reference: set.Spec.Template.Spec.InfrastructureRef}, nil
	}
	md := &clusterv1.MachineDeployment{}
	key.Name = controller.Name
	if err := reader.Get(ctx, key, md); err != nil {
		return nil, existing.UnlessAbsent(err, "reading MachineDeployment "+key.Name)
	}
	return &Want{reference: md.Spec.Template.Spec.InfrastructureRef}, nil
}
