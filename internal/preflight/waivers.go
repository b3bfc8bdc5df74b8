// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package preflight

import (
	"slices"
	"strings"

	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
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
