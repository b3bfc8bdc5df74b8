// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package preflight

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/existing"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/rollout"
)

// Waivers are the names of the checks that a user chose to ignore.
type Waivers []infrav1.PreflightCheck

// WaiversOf collects the waivers of objects of the kinds that can have them.
func WaiversOf(objects ...client.Object) Waivers {
	found := Waivers{}
	for _, object := range objects {
		switch object := object.(type) {
		case *infrav1.ElementalHostUpgrade:
			found = append(found, object.Spec.SkipPreflight...)
		case *infrav1.ElementalMachineTemplate:
			found = append(found, object.Spec.SkipPreflight...)
		case *infrav1.ElementalCluster:
			found = append(found, object.Spec.SkipPreflight...)
		case *infrav1.ElementalMachine:
			found = append(found, AnnotatedWaivers(object)...)
		}
	}
	return found
}

// AnnotatedWaivers are the waivers in the annotation of an ElementalMachine.
func AnnotatedWaivers(machine *infrav1.ElementalMachine) Waivers {
	found := Waivers{}
	for _, name := range strings.FieldsFunc(machine.Annotations[infrav1.SkipPreflightAnnotation], func(c rune) bool {
		return c == ',' || c == ' '
	}) {
		found = append(found, infrav1.PreflightCheck(name))
	}
	return found
}

// Has reports whether a check is waived.
func (w Waivers) Has(check string) bool { return slices.Contains(w, infrav1.PreflightCheck(check)) }

// Templates are a template and, where that is a clone, the one that it was made from, which a person annotates. It is
// empty for a nil template.
func Templates(ctx context.Context, reader client.Reader, template *infrav1.ElementalMachineTemplate) ([]client.Object, error) {
	if template == nil {
		return nil, nil
	}
	found := []client.Object{template}
	source := template.Labels[infrav1.SourceTemplateLabel]
	if source == "" {
		return found, nil
	}
	named, err := existing.Get(ctx, reader, &infrav1.ElementalMachineTemplate{}, template.Namespace, source)
	if err != nil {
		return nil, err
	}
	if named != nil {
		return append(found, named), nil
	}
	// A name that is too long for a label is in it as a hash.
	all := &infrav1.ElementalMachineTemplateList{}
	if err := reader.List(ctx, all, client.InNamespace(template.Namespace), client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("looking for the source of ElementalMachineTemplate %s: %w", template.Name, err)
	}
	for i := range all.Items {
		if rollout.LabelValue(all.Items[i].Name) == source {
			found = append(found, all.Items[i].DeepCopy())
		}
	}
	return found, nil
}
