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

// +kubebuilder:webhook:verbs=create;update,path=/validate-infrastructure-cluster-x-k8s-io-v1beta1-elementalclustertemplate,mutating=false,failurePolicy=fail,matchPolicy=Equivalent,groups=infrastructure.cluster.x-k8s.io,resources=elementalclustertemplates,versions=v1beta1,name=validation.elementalclustertemplate.infrastructure.cluster.x-k8s.io,sideEffects=None,admissionReviewVersions=v1

// ClusterTemplate is the webhook of ElementalClusterTemplates, which are immutable.
type ClusterTemplate struct{}

var _ admission.Validator[*infrav1.ElementalClusterTemplate] = &ClusterTemplate{}

// ValidateCreate rejects templates from which no cluster could be created.
func (*ClusterTemplate) ValidateCreate(_ context.Context, template *infrav1.ElementalClusterTemplate) (admission.Warnings, error) {
	spec := field.NewPath("spec", "template", "spec")
	warnings, errs := validateUpgradeOption(&template.Spec.Template.Spec.NodeUpgradeOption, spec.Child("nodeUpgradeOption"))
	errs = append(errs, validateImageVerification(template.Spec.Template.Spec.ImageVerification, spec.Child("imageVerification"))...)
	if len(template.Spec.Template.Spec.Quarantine) > 0 {
		errs = append(errs, field.Forbidden(spec.Child("quarantine"), "the images are those that hosts of one cluster rolled back from: remove it from the template"))
	}
	return warnings, invalid("ElementalClusterTemplate", template, errs)
}

// ValidateUpdate rejects every change of spec.template.spec.
func (*ClusterTemplate) ValidateUpdate(ctx context.Context, before, after *infrav1.ElementalClusterTemplate) (admission.Warnings, error) {
	if equality.Semantic.DeepEqual(before.Spec.Template.Spec, after.Spec.Template.Spec) {
		return nil, nil
	}
	dryRun, err := isTopologyDryRun(ctx, after)
	if err != nil || dryRun {
		return nil, err
	}
	return nil, invalid("ElementalClusterTemplate", after, field.ErrorList{field.Forbidden(field.NewPath("spec", "template", "spec"),
		"it is immutable: create a new ElementalClusterTemplate and refer to that in the ClusterClass")})
}

// ValidateDelete accepts everything.
func (*ClusterTemplate) ValidateDelete(context.Context, *infrav1.ElementalClusterTemplate) (admission.Warnings, error) {
	return nil, nil
}
