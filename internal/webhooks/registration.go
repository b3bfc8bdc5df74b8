// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package webhooks

import (
	"context"
	"slices"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
)

// +kubebuilder:webhook:verbs=create;update,path=/validate-infrastructure-cluster-x-k8s-io-v1beta1-elementalregistration,mutating=false,failurePolicy=fail,matchPolicy=Equivalent,groups=infrastructure.cluster.x-k8s.io,resources=elementalregistrations,versions=v1beta1,name=validation.elementalregistration.infrastructure.cluster.x-k8s.io,sideEffects=None,admissionReviewVersions=v1

// Registration is the webhook of ElementalRegistrations.
type Registration struct{}

var _ admission.Validator[*infrav1.ElementalRegistration] = &Registration{}

// ValidateCreate rejects invalid rules of imageVerification, and invalid insecureRegistries.
func (*Registration) ValidateCreate(_ context.Context, registration *infrav1.ElementalRegistration) (admission.Warnings, error) {
	return nil, invalid("ElementalRegistration", registration, slices.Concat(
		validateImageVerification(registration.Spec.ImageVerification, field.NewPath("spec", "imageVerification")),
		validateInsecureRegistries(registration.Spec.Config.Elemental.Agent.InsecureRegistries,
			field.NewPath("spec", "config", "elemental", "agent", "insecureRegistries"))))
}

// ValidateUpdate is ValidateCreate for the fields that change: keys must be denied even if other fields are invalid.
func (w *Registration) ValidateUpdate(ctx context.Context, before, after *infrav1.ElementalRegistration) (admission.Warnings, error) {
	if equality.Semantic.DeepEqual(before.Spec.ImageVerification, after.Spec.ImageVerification) &&
		slices.Equal(before.Spec.Config.Elemental.Agent.InsecureRegistries, after.Spec.Config.Elemental.Agent.InsecureRegistries) {
		return nil, nil
	}
	return w.ValidateCreate(ctx, after)
}

// ValidateDelete accepts everything.
func (*Registration) ValidateDelete(context.Context, *infrav1.ElementalRegistration) (admission.Warnings, error) {
	return nil, nil
}
