// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package webhooks

import (
	"encoding/json"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/osversion"
)

// validateMachineSpec checks what an ElementalMachine and a template of one have in common.
func validateMachineSpec(spec *infrav1.ElementalMachineSpec, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	if _, err := osversion.Decode(spec.OSVersionManagement); err != nil {
		at := path.Child("osVersionManagement", infrav1.OSVersionKey)
		raw := json.RawMessage(spec.OSVersionManagement[infrav1.OSVersionKey].Raw)
		errs = append(errs, field.Invalid(at, string(raw),
			"it has to be an object with imageUri (string), upgradeRecovery (boolean) and debug (boolean), all optional"))
	}
	if spec.Selector != nil {
		if _, err := metav1.LabelSelectorAsSelector(spec.Selector); err != nil {
			errs = append(errs, field.Invalid(path.Child("selector"), metav1.FormatLabelSelector(spec.Selector),
				"it is not a label selector: "+err.Error()))
		}
	}
	return errs
}
