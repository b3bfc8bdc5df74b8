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
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/rollout"
)

// Want is the OS that a Machine's owner wants for it.
type Want struct {
	// TemplateName is the ElementalMachineTemplate that the owner refers to or, for a Machine with a note, the one whose content is rolled
	// out to the Machine.
	TemplateName string
	// OSVersionManagement is that of the template, with the image of its ManagedOSVersion.
	OSVersionManagement infrav1.OSVersionManagement
	// Template is the template as it was read.
	Template *infrav1.ElementalMachineTemplate

	// reference is what the owner refers to, whether or not it is such a template, or was found; empty if there is no
	// such owner.
	reference clusterv1.ContractVersionedObjectReference
	// isDirect says that this provider brings the Machine to the template, and no owner refers to it.
	isDirect bool
}

// WantsOS returns the OS that the owner of a Machine wants, according to the reader. During a rollout it may differ from the OS that the Machine is
// being updated to. It is that of the template that is rolled out to the Machine, if that is of the family of the one that the owner refers to, and
// else the latter. found is false if it is unknown; see Want.Unknown: there is no such owner and nothing is rolled out to the Machine, or the template is
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
	if want.Template == nil {
		want.Template, err = existing.Get(ctx, reader, &infrav1.ElementalMachineTemplate{}, machine.Namespace, want.reference.Name)
		if err != nil || want.Template == nil {
			return want, false, err
		}
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

// WantsLatestOS is WantsOS but for a clone whose source was given another OS since: the Machine is brought to that next, and no Machine may start with
// the former one.
func WantsLatestOS(ctx context.Context, reader client.Reader, machine *clusterv1.Machine) (want Want, found bool, err error) {
	want, found, err = WantsOS(ctx, reader, machine)
	if err != nil || !found {
		return want, found, err
	}
	source, err := want.Overtaker(ctx, reader)
	if err != nil {
		return want, false, err
	}
	if source != nil {
		want.TemplateName, want.OSVersionManagement, want.Template = source.Name, osversion.OfTemplate(source), source
	}
	return want, true, nil
}

// Overtaker is the source of the clone that is wanted, if it was given another OS since, according to the reader: no Machine may begin with the
// clone's. It is nil if there is none, or if an owner refers to the clone.
func (w Want) Overtaker(ctx context.Context, reader client.Reader) (*infrav1.ElementalMachineTemplate, error) {
	if !w.isDirect || !rollout.IsClone(w.Template) {
		return nil, nil
	}
	source, err := existing.Get(ctx, reader, &infrav1.ElementalMachineTemplate{}, w.Template.Namespace, rollout.SourceName(w.Template))
	if err != nil || source == nil || !source.DeletionTimestamp.IsZero() || osversion.Same(osversion.OfTemplate(source), w.OSVersionManagement) {
		return nil, err
	}
	return source, nil
}

// Unknown describes why WantsOS has not found what the owner of a Machine wants, and what to do.
func (w Want) Unknown(machine *clusterv1.Machine) string {
	const kinds = "nothing is rolled out to it for a patched template: see condition RolloutBlocked of the ElementalMachineTemplate that it was made from"
	if w.isDirect {
		return fmt.Sprintf("ElementalMachineTemplate %s, which is rolled out to Machine %s, does not exist: patch the template that it was a clone of",
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
	noted, err := NotedTemplateOf(ctx, reader, machine)
	if err != nil {
		return nil, err
	}
	byOwner, err := ownersReference(ctx, reader, machine)
	switch {
	case err != nil, noted == "":
		return byOwner, err
	case byOwner != nil:
		return wantedByNote(ctx, reader, machine.Namespace, byOwner, noted)
	case IsOfMachineSet(machine): // which is gone
		return nil, nil
	}
	return &Want{reference: templateNamed(noted), isDirect: true}, nil
}

func templateNamed(name string) clusterv1.ContractVersionedObjectReference {
	return clusterv1.ContractVersionedObjectReference{APIGroup: infrav1.GroupVersion.Group, Kind: ElementalMachineTemplateKind, Name: name}
}

// wantedByNote is the template that is rolled out to a Machine if it is of the family of the one that the owner refers to, and otherwise
// that: a note on the ElementalMachine names the former, and must not have the host take the OS of another family.
func wantedByNote(ctx context.Context, reader client.Reader, namespace string, byOwner *Want, name string) (*Want, error) {
	if !isOurTemplate(byOwner.reference) || byOwner.reference.Name == name {
		return byOwner, nil
	}
	var err error
	byOwner.Template, err = existing.Get(ctx, reader, &infrav1.ElementalMachineTemplate{}, namespace, byOwner.reference.Name)
	if err != nil || byOwner.Template == nil {
		return byOwner, err
	}
	template, err := existing.Get(ctx, reader, &infrav1.ElementalMachineTemplate{}, namespace, name)
	if err != nil || template == nil || rollout.FamilyOf(template) != rollout.FamilyOf(byOwner.Template) {
		return byOwner, err
	}
	return &Want{reference: templateNamed(name), Template: template, isDirect: true}, nil
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
