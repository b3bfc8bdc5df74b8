// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package webhooks

import (
	"context"

	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
)

// +kubebuilder:webhook:verbs=create;update,path=/validate-infrastructure-cluster-x-k8s-io-v1beta1-elementalcluster,mutating=false,failurePolicy=fail,matchPolicy=Equivalent,groups=infrastructure.cluster.x-k8s.io,resources=elementalclusters,versions=v1beta1,name=validation.elementalcluster.infrastructure.cluster.x-k8s.io,sideEffects=None,admissionReviewVersions=v1

// Cluster is the webhook of ElementalClusters.
type Cluster struct{}

var _ admission.Validator[*infrav1.ElementalCluster] = &Cluster{}

// ValidateCreate rejects options with which no upgrade could run.
func (*Cluster) ValidateCreate(_ context.Context, cluster *infrav1.ElementalCluster) (admission.Warnings, error) {
	warnings, errs := validateUpgradeOption(&cluster.Spec.NodeUpgradeOption, field.NewPath("spec", "nodeUpgradeOption"))
	errs = append(errs, validateImageVerification(cluster.Spec.ImageVerification, field.NewPath("spec", "imageVerification"))...)
	return warnings, invalid("ElementalCluster", cluster, errs)
}

// ValidateUpdate is ValidateCreate: a running rollout keeps the options it began with, so all of them may
// be changed.
func (w *Cluster) ValidateUpdate(ctx context.Context, _, after *infrav1.ElementalCluster) (admission.Warnings, error) {
	if !after.DeletionTimestamp.IsZero() {
		return nil, nil
	}
	return w.ValidateCreate(ctx, after)
}

// ValidateDelete accepts everything.
func (*Cluster) ValidateDelete(context.Context, *infrav1.ElementalCluster) (admission.Warnings, error) {
	return nil, nil
}

// validateUpgradeOption checks what the CRD's schema does not.
func validateUpgradeOption(option *infrav1.NodeUpgradeOption, path *field.Path) (admission.Warnings, field.ErrorList) {
	var warnings admission.Warnings
	var errs field.ErrorList
	pauseNodes := path.Child("strategy", "pauseNodes")
	for i, name := range option.Strategy.PauseNodes {
		if problems := validation.IsDNS1123Subdomain(name); len(problems) > 0 {
			errs = append(errs, field.Invalid(pauseNodes.Index(i), name, "it cannot be the name of a Node: "+problems[0]))
		}
	}
	if len(option.Strategy.PauseNodes) > 0 && !option.Strategy.IsManual() {
		warnings = append(warnings, pauseNodes.String()+` has no effect: set strategy.mode to Manual to pause these nodes`)
	}
	return warnings, errs
}
