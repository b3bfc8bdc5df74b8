// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package owner

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/annotations"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/association"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/existing"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/osversion"
)

// A note on an ElementalMachine is the template whose content this provider brings it to, or has found it with, the hash of its OS and, while it is brought
// there, the rollout.

// IsNoted reports whether a machine has a note. Cluster API does not update such a machine unless it has marked it, and what repairs its updates must leave it
// alone.
func IsNoted(machine *infrav1.ElementalMachine) bool { return NotedTemplate(machine) != "" }

// NotedTemplate is the ElementalMachineTemplate of the note; empty without one.
func NotedTemplate(machine *infrav1.ElementalMachine) string {
	return machine.Annotations[infrav1.NotedTemplateAnnotation]
}

// IsNoteKnown reports whether the OS of the note is in the form of this version of the manager. That there was no OS is known in any.
func IsNoteKnown(machine *infrav1.ElementalMachine) bool {
	noted := machine.Annotations[infrav1.NotedOSAnnotation]
	_, isKnown := osversion.FromStored(noted)
	return isKnown || noted == ""
}

// NotedOS is the hash of the OS of the note; empty without one. For a note in another form it is that of what the machine itself specifies.
func NotedOS(machine *infrav1.ElementalMachine) string {
	noted := machine.Annotations[infrav1.NotedOSAnnotation]
	if noted == "" {
		return ""
	}
	if hash, isKnown := osversion.FromStored(noted); isKnown {
		return hash
	}
	return osversion.Hash(machine.Spec.OSVersionManagement)
}

// NotedRollout is the ElementalRollout of the note; empty without one, and where nothing is rolled out to the machine.
func NotedRollout(machine *infrav1.ElementalMachine) string {
	return machine.Annotations[infrav1.RolloutAnnotation]
}

// IsThere reports whether a machine has the OS of a template, by its hash, according to its note: nothing is rolled out to it.
func IsThere(machine *infrav1.ElementalMachine, template, hash string) bool {
	return NotedTemplate(machine) == template && NotedOS(machine) == hash && NotedRollout(machine) == ""
}

// Note on a machine the hash of a template's OS, and the rollout that brings the machine to it; empty: it is there. It reports whether that is a change.
func Note(machine *infrav1.ElementalMachine, template, hash, rollout string) bool {
	former := NotedRollout(machine)
	changed := annotations.AddAnnotations(machine, map[string]string{
		infrav1.NotedTemplateAnnotation: template, infrav1.NotedOSAnnotation: osversion.Stored(hash),
	})
	if former == rollout {
		return changed
	}
	if rollout == "" {
		delete(machine.Annotations, infrav1.RolloutAnnotation)
		return true
	}
	return annotations.AddAnnotations(machine, map[string]string{infrav1.RolloutAnnotation: rollout})
}

// ReachedOS is the hash of the last OS that a machine specified and that its host was observed to run; empty if that is not known in the form of today.
func ReachedOS(machine *infrav1.ElementalMachine) string {
	hash, _ := osversion.FromStored(machine.Annotations[infrav1.OSReachedAnnotation])
	return hash
}

// RecordReached records that the host of a machine runs the OS that the machine specifies.
func RecordReached(machine *infrav1.ElementalMachine) {
	hash := osversion.Hash(machine.Spec.OSVersionManagement)
	annotations.AddAnnotations(machine, map[string]string{infrav1.OSReachedAnnotation: osversion.Stored(hash)})
}

// NotedTemplateOf is NotedTemplateIn of the ElementalMachine of a Machine, which is read.
func NotedTemplateOf(ctx context.Context, reader client.Reader, machine *clusterv1.Machine) (string, error) {
	ref := machine.Spec.InfrastructureRef
	if !association.NamesElementalMachine(ref) {
		return "", nil
	}
	elemental, err := existing.Get(ctx, reader, &infrav1.ElementalMachine{}, machine.Namespace, ref.Name, client.UnsafeDisableDeepCopy)
	if err != nil {
		return "", existing.UnlessAbsent(err, "reading ElementalMachine "+ref.Name)
	}
	return NotedTemplateIn(machine, elemental), nil
}

// NotedTemplateIn is NotedTemplate of the ElementalMachine of a Machine, which may be nil. It is empty while Cluster API updates the Machine, which its
// owner's reference determines.
func NotedTemplateIn(machine *clusterv1.Machine, elemental *infrav1.ElementalMachine) string {
	if elemental == nil || !IsLeftToDirect(machine, elemental) {
		return ""
	}
	return NotedTemplate(elemental)
}

// IsOfMachineSet reports whether a MachineSet controls a Machine.
func IsOfMachineSet(machine *clusterv1.Machine) bool {
	controller := metav1.GetControllerOf(machine)
	return controller != nil && controller.Kind == machineSetKind
}

// IsLeftToDirect reports whether a machine has a note, and Cluster API does not update it at the moment.
func IsLeftToDirect(machine *clusterv1.Machine, elemental *infrav1.ElementalMachine) bool {
	return IsNoted(elemental) && !IsUpdating(elemental) && !IsUpdating(machine)
}
