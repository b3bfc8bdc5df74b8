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
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/moved"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/rollout"
)

// +kubebuilder:webhook:verbs=create;update,path=/validate-infrastructure-cluster-x-k8s-io-v1beta1-elementalmachinetemplate,mutating=false,failurePolicy=fail,matchPolicy=Equivalent,groups=infrastructure.cluster.x-k8s.io,resources=elementalmachinetemplates,versions=v1beta1,name=validation.elementalmachinetemplate.infrastructure.cluster.x-k8s.io,sideEffects=None,admissionReviewVersions=v1

// MachineTemplate is the webhook of ElementalMachineTemplates: of spec.template.spec only osVersionManagement may be changed,
// because a machine can be updated in place for that field only. The spec of a clone is not changed by anybody, nor what marks it.
type MachineTemplate struct{}

var _ admission.Validator[*infrav1.ElementalMachineTemplate] = &MachineTemplate{}

// ValidateCreate rejects templates from which no machine could be created.
func (*MachineTemplate) ValidateCreate(_ context.Context, template *infrav1.ElementalMachineTemplate) (admission.Warnings, error) {
	wanted := template.Spec.Template.Spec.OSVersionManagement
	return append(warnOfOS(nil, wanted), warnOfClone(template)...), invalid("ElementalMachineTemplate", template, validateTemplate(nil, template))
}

// ValidateUpdate rejects a change of anything except osVersionManagement, and each change of a clone. Dry runs of Cluster API's topology
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
	if !dryRun {
		errs = append(errs, validateClone(before, after)...)
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

// validateClone rejects a change of a clone, and one that makes a template a clone, or a clone another template. Of a clone nobody looks whether
// its spec has changed: hosts would get an OS that its source does not have. A template that is marked as a clone is not rolled out, and is
// deleted when nothing refers to it. What creates templates may mark them, because "clusterctl move" and backups create clones again.
func validateClone(before, after *infrav1.ElementalMachineTemplate) field.ErrorList {
	errs, source := field.ErrorList{}, rollout.SourceName(before)
	if rollout.IsClone(before) && !equality.Semantic.DeepEqual(before.Spec, after.Spec) {
		errs = append(errs, field.Forbidden(field.NewPath("spec"), fmt.Sprintf(
			"this is a clone of ElementalMachineTemplate %s, which a rollout has made: edit ElementalMachineTemplate %s instead", source, source)))
	}
	if moved.Away(after) { // all of its annotations are replaced by that one
		return errs
	}
	for _, marks := range []struct {
		path          *field.Path
		before, after map[string]string
	}{
		{field.NewPath("metadata", "labels"), before.Labels, after.Labels},
		{field.NewPath("metadata", "annotations"), before.Annotations, after.Annotations},
	} {
		was, wasSet := marks.before[infrav1.SourceTemplateLabel]
		is, isSet := marks.after[infrav1.SourceTemplateLabel]
		if was != is || wasSet != isSet {
			errs = append(errs, field.Forbidden(marks.path.Key(infrav1.SourceTemplateLabel),
				"it marks the clones that rollouts make, and is immutable: to have another template, create one without it"))
		}
	}
	return errs
}

// warnOfClone warns of a template that is marked as a clone, and is not what a rollout has cloned: a copy that a user has changed.
func warnOfClone(template *infrav1.ElementalMachineTemplate) admission.Warnings {
	hash, err := rollout.ContentHash(template)
	if !rollout.IsClone(template) || err != nil || template.Annotations[infrav1.RolledOutHashAnnotation] == hash {
		return nil
	}
	return admission.Warnings{fmt.Sprintf("label %s marks this as a clone of ElementalMachineTemplate %s, and its spec is not what was cloned: "+
		"it is not rolled out, and deleted when nothing refers to it; create it without the label to have a template of your own",
		infrav1.SourceTemplateLabel, rollout.SourceName(template))}
}

func immutablePart(template *infrav1.ElementalMachineTemplate) infrav1.ElementalMachineSpec {
	spec := template.Spec.Template.Spec
	spec.OSVersionManagement = nil
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
