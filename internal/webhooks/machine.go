// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package webhooks

import (
	"context"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/validation/field"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/existing"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/preflight"
)

// +kubebuilder:webhook:verbs=create;update,path=/validate-infrastructure-cluster-x-k8s-io-v1beta1-elementalmachine,mutating=false,failurePolicy=fail,matchPolicy=Equivalent,groups=infrastructure.cluster.x-k8s.io,resources=elementalmachines,versions=v1beta1,name=validation.elementalmachine.infrastructure.cluster.x-k8s.io,sideEffects=None,admissionReviewVersions=v1

// Machine is the webhook of ElementalMachines: osVersionManagement can be changed in place, the host cannot
// be changed.
type Machine struct {
	// Live reads templates from the API server: a template is often created just before its machines are applied.
	Live client.Reader
}

var _ admission.Validator[*infrav1.ElementalMachine] = &Machine{}

// ValidateCreate rejects a machine for which no host could be found. A machine that was moved here has its
// host already.
func (*Machine) ValidateCreate(_ context.Context, machine *infrav1.ElementalMachine) (admission.Warnings, error) {
	path, wanted := field.NewPath("spec"), machine.Spec.OSVersionManagement
	errs := slices.Concat(validateOS(wanted, path), validateImage(infrav1.OSVersionManagement{}, wanted, path), validateSelector(machine.Spec.Selector, path))
	return append(warnOfOS(infrav1.OSVersionManagement{}, wanted), warnOfWaivers(machine)...), invalid("ElementalMachine", machine, errs)
}

// ValidateUpdate rejects a change of the host, a change of the selector once there is a host, and an invalid OS, but accepts the
// values that the machine or its stored template already has. KubeadmControlPlane applies both in a dry run before it updates a
// Machine in place. If that is rejected it deletes the Machine, without asking whether it may be replaced.
func (w *Machine) ValidateUpdate(ctx context.Context, before, after *infrav1.ElementalMachine) (admission.Warnings, error) {
	if !after.DeletionTimestamp.IsZero() {
		return nil, nil
	}
	warnings := warnOfOS(before.Spec.OSVersionManagement, after.Spec.OSVersionManagement)
	if before.Annotations[infrav1.SkipPreflightAnnotation] != after.Annotations[infrav1.SkipPreflightAnnotation] {
		warnings = append(warnings, warnOfWaivers(after)...)
	}
	errs := validateMachineChange(before, after, &before.Spec)
	if len(errs) > 0 {
		stored, err := w.storedSpecs(ctx, before, after)
		if err != nil {
			return nil, err
		}
		errs = validateMachineChange(before, after, stored...)
	}
	return warnings, invalid("ElementalMachine", after, errs)
}

// validateMachineChange accepts the values that are in one of the stored specs.
func validateMachineChange(before, after *infrav1.ElementalMachine, stored ...*infrav1.ElementalMachineSpec) field.ErrorList {
	path, errs := field.NewPath("spec"), field.ErrorList{}
	const replace = "it is set once: delete the Machine to have it replaced on another host"
	if !slices.ContainsFunc(stored, func(spec *infrav1.ElementalMachineSpec) bool {
		return equality.Semantic.DeepEqual(spec.OSVersionManagement, after.Spec.OSVersionManagement)
	}) {
		errs = append(errs, validateOS(after.Spec.OSVersionManagement, path)...)
		errs = append(errs, validateImage(before.Spec.OSVersionManagement, after.Spec.OSVersionManagement, path)...)
	}
	if before.Spec.ProviderID != "" && after.Spec.ProviderID != before.Spec.ProviderID {
		errs = append(errs, field.Forbidden(path.Child("providerID"), replace))
	}
	if before.Spec.HostRef != nil && (after.Spec.HostRef == nil || after.Spec.HostRef.Name != before.Spec.HostRef.Name) {
		errs = append(errs, field.Forbidden(path.Child("hostRef"), replace))
	}
	if !slices.ContainsFunc(stored, func(spec *infrav1.ElementalMachineSpec) bool {
		return equality.Semantic.DeepEqual(spec.Selector, after.Spec.Selector)
	}) {
		errs = append(errs, validateSelector(after.Spec.Selector, path)...)
		if before.Spec.HostRef != nil {
			errs = append(errs, field.Forbidden(path.Child("selector"),
				"the machine has its host: change the selector in the ElementalMachineTemplate that new machines are made from"))
		}
	}
	return errs
}

// storedSpecs are the machine's own and that of its template, if there is one. A failure to read the template must be reported
// as an internal error: any other error would reach KubeadmControlPlane as Forbidden, and it would delete the Machine.
func (w *Machine) storedSpecs(ctx context.Context, before, after *infrav1.ElementalMachine) ([]*infrav1.ElementalMachineSpec, error) {
	stored := []*infrav1.ElementalMachineSpec{&before.Spec}
	name := after.Annotations[clusterv1.TemplateClonedFromNameAnnotation]
	if name == "" {
		return stored, nil
	}
	template, err := existing.Get(ctx, w.Live, &infrav1.ElementalMachineTemplate{}, after.Namespace, name)
	if err != nil {
		return nil, apierrors.NewInternalError(err)
	}
	if template != nil {
		stored = append(stored, &template.Spec.Template.Spec)
	}
	return stored, nil
}

// ValidateDelete accepts everything.
func (*Machine) ValidateDelete(context.Context, *infrav1.ElementalMachine) (admission.Warnings, error) {
	return nil, nil
}

// warnOfWaivers names the waivers of checks that do not exist. They are not refused: Cluster API copies annotations of templates
// and of MachineDeployments here, and KubeadmControlPlane deletes a Machine whose dry run is refused.
func warnOfWaivers(machine *infrav1.ElementalMachine) admission.Warnings {
	var warnings admission.Warnings
	for _, name := range preflight.AnnotatedWaivers(machine) {
		if !slices.Contains(infrav1.PreflightChecks(), name) {
			warnings = append(warnings, fmt.Sprintf("annotation %s waives nothing by %.60q, which is no preflight check: docs/preflight.md has their names",
				infrav1.SkipPreflightAnnotation, name))
		}
	}
	return warnings
}
