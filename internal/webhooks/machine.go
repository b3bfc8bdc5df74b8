// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package webhooks

import (
	"context"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
)

// +kubebuilder:webhook:verbs=create;update,path=/validate-infrastructure-cluster-x-k8s-io-v1beta1-elementalmachine,mutating=false,failurePolicy=fail,matchPolicy=Equivalent,groups=infrastructure.cluster.x-k8s.io,resources=elementalmachines,versions=v1beta1,name=validation.elementalmachine.infrastructure.cluster.x-k8s.io,sideEffects=None,admissionReviewVersions=v1

// Machine is the webhook of ElementalMachines: osVersionManagement is changed in place, and the host is
// chosen once.
type Machine struct{}

var _ admission.Validator[*infrav1.ElementalMachine] = &Machine{}

// ValidateCreate refuses what no host could be found for. A machine that was moved here comes with its
// host.
func (*Machine) ValidateCreate(_ context.Context, machine *infrav1.ElementalMachine) (admission.Warnings, error) {
	path, wanted := field.NewPath("spec"), machine.Spec.OSVersionManagement
	errs := append(validateMachineSpec(&machine.Spec, path), validateImage(nil, wanted, path)...)
	return warnOfOS(nil, wanted), invalid("ElementalMachine", machine, errs)
}

// ValidateUpdate refuses another host, and another selector once there is a host.
func (*Machine) ValidateUpdate(_ context.Context, before, after *infrav1.ElementalMachine) (admission.Warnings, error) {
	if !after.DeletionTimestamp.IsZero() {
		return nil, nil
	}
	path := field.NewPath("spec")
	const replace = "it is set once: delete the Machine to have it replaced on another host"
	was, wanted := before.Spec.OSVersionManagement, after.Spec.OSVersionManagement
	errs := append(validateMachineSpec(&after.Spec, path), validateImage(was, wanted, path)...)
	if before.Spec.ProviderID != "" && after.Spec.ProviderID != before.Spec.ProviderID {
		errs = append(errs, field.Forbidden(path.Child("providerID"), replace))
	}
	if before.Spec.HostRef != nil && (after.Spec.HostRef == nil || after.Spec.HostRef.Name != before.Spec.HostRef.Name) {
		errs = append(errs, field.Forbidden(path.Child("hostRef"), replace))
	}
	if before.Spec.HostRef != nil && !equality.Semantic.DeepEqual(before.Spec.Selector, after.Spec.Selector) {
		errs = append(errs, field.Forbidden(path.Child("selector"),
			"the machine has its host: change the selector in the ElementalMachineTemplate that new machines are made from"))
	}
	return warnOfOS(was, wanted), invalid("ElementalMachine", after, errs)
}

// ValidateDelete refuses nothing.
func (*Machine) ValidateDelete(context.Context, *infrav1.ElementalMachine) (admission.Warnings, error) {
	return nil, nil
}
