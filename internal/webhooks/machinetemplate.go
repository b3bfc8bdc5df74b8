// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package webhooks

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/cluster-api/util/topology"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
)

// +kubebuilder:webhook:verbs=create;update,path=/validate-infrastructure-cluster-x-k8s-io-v1beta1-elementalmachinetemplate,mutating=false,failurePolicy=fail,matchPolicy=Equivalent,groups=infrastructure.cluster.x-k8s.io,resources=elementalmachinetemplates,versions=v1beta1,name=validation.elementalmachinetemplate.infrastructure.cluster.x-k8s.io,sideEffects=None,admissionReviewVersions=v1

// MachineTemplate is the webhook of ElementalMachineTemplates: of spec.template.spec only osVersionManagement may be changed,
// because a machine can be updated in place for that field only.
type MachineTemplate struct{}

var _ admission.Validator[*infrav1.ElementalMachineTemplate] = &MachineTemplate{}

// ValidateCreate rejects templates from which no machine could be created.
func (*MachineTemplate) ValidateCreate(_ context.Context, template *infrav1.ElementalMachineTemplate) (admission.Warnings, error) {
	wanted := template.Spec.Template.Spec.OSVersionManagement
	return warnOfOS(infrav1.OSVersionManagement{}, wanted), invalid("ElementalMachineTemplate", template, validateTemplate(infrav1.OSVersionManagement{}, template))
}

// ValidateUpdate rejects a change of anything except osVersionManagement. Dry runs of Cluster API's topology
// controller are accepted, because it rotates the template if the dry run of a change succeeds.
func (*MachineTemplate) ValidateUpdate(ctx context.Context, before, after *infrav1.ElementalMachineTemplate) (admission.Warnings, error) {
	if !after.DeletionTimestamp.IsZero() {
		return nil, nil
	}
	was, wanted := before.Spec.Template.Spec.OSVersionManagement, after.Spec.Template.Spec.OSVersionManagement
	errs := validateTemplate(was, after)
	dryRun, err := isTopologyDryRun(ctx, after)
	if err != nil {
		return nil, err
	}
	if !dryRun && !equality.Semantic.DeepEqual(immutablePart(before), immutablePart(after)) {
		errs = append(errs, field.Forbidden(field.NewPath("spec", "template", "spec"),
			"only osVersionManagement may be changed: for another change create a new ElementalMachineTemplate and refer to that"))
	}
	return warnOfOS(was, wanted), invalid("ElementalMachineTemplate", after, errs)
}

// ValidateDelete accepts everything.
func (*MachineTemplate) ValidateDelete(context.Context, *infrav1.ElementalMachineTemplate) (admission.Warnings, error) {
	return nil, nil
}

// validateTemplate rejects templates from which no machine could be created. The former OS is empty for a new template. The types of its
// fields are in the schema.
func validateTemplate(was infrav1.OSVersionManagement, template *infrav1.ElementalMachineTemplate) field.ErrorList {
	path := field.NewPath("spec", "template", "spec")
	spec := &template.Spec.Template.Spec
	errs := append(validateSelector(spec.Selector, path), validateImage(was, spec.OSVersionManagement, path)...)
	if spec.ProviderID != "" {
		errs = append(errs, field.Forbidden(path.Child("providerID"), "it names one machine's host: remove it from the template"))
	}
	if spec.HostRef != nil {
		errs = append(errs, field.Forbidden(path.Child("hostRef"), "it names one machine's host: remove it, and use selector to choose among hosts"))
	}
	return errs
}

func immutablePart(template *infrav1.ElementalMachineTemplate) infrav1.ElementalMachineSpec {
	spec := template.Spec.Template.Spec
	spec.OSVersionManagement = infrav1.OSVersionManagement{}
	return spec
}

// isTopologyDryRun reports whether the request is a dry run of the topology controller.
func isTopologyDryRun(ctx context.Context, object client.Object) (bool, error) {
	request, err := admission.RequestFromContext(ctx)
	if err != nil {
		return false, apierrors.NewInternalError(fmt.Errorf("reading the admission request: %w", err))
	}
	return topology.IsDryRunRequest(request, object), nil
}
