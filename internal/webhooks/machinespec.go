// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package webhooks

import (
	"encoding/json"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/imageuri"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/osversion"
)

// validateOS checks the types of an OS version, in kinds whose schema leaves them open: see infrav1.OSVersion.
func validateOS(management infrav1.OSVersionManagement, path *field.Path) field.ErrorList {
	if _, err := osversion.Decode(management); err != nil {
		raw := string(management[infrav1.OSVersionKey].Raw)
		return field.ErrorList{field.Invalid(path.Child("osVersionManagement", infrav1.OSVersionKey), raw, err.Error())}
	}
	return nil
}

func validateSelector(selector *metav1.LabelSelector, path *field.Path) field.ErrorList {
	if selector == nil {
		return nil
	}
	if _, err := metav1.LabelSelectorAsSelector(selector); err != nil {
		return field.ErrorList{field.Invalid(path.Child("selector"), metav1.FormatLabelSelector(selector),
			"it is not a label selector: "+err.Error())}
	}
	return nil
}

// validateImage rejects an image that no host could fetch: its rollout would only produce failed attempts. An invalid image that is
// already stored does not block other changes of the object.
func validateImage(before, after infrav1.OSVersionManagement, path *field.Path) field.ErrorList {
	image, asked := osversion.Image(after)
	if !asked || equality.Semantic.DeepEqual(before, after) {
		return nil
	}
	if _, err := imageuri.Parse(image); err != nil {
		return field.ErrorList{field.Invalid(path.Child("osVersionManagement", infrav1.OSVersionKey, "imageUri"), image, err.Error())}
	}
	return nil
}

// warnOfOS warns about parts of a changed OS version that have no effect. Unknown keys are not rejected: another OS plugin, or
// an agent of another version, may support more than this manager, and gets them unchanged.
func warnOfOS(before, after infrav1.OSVersionManagement) admission.Warnings {
	if equality.Semantic.DeepEqual(before, after) {
		return nil
	}
	warnings := admission.Warnings{}
	for _, key := range osversion.Unknown(after) {
		warnings = append(warnings, fmt.Sprintf("osVersion.%.60s is passed on to the hosts, whose elemental OS plugin ignores it: it knows %s",
			key, strings.Join(osversion.Keys(), ", ")))
	}
	if name := osversion.Unresolved(after); name != "" && written(before) != written(after) {
		warnings = append(warnings, fmt.Sprintf("osVersion.imageUri is ignored because managedOSVersionName %.60q is set: remove that to use this image",
			name))
	}
	return warnings
}

// written is the image in an OS version, even if it is ignored.
func written(management infrav1.OSVersionManagement) string {
	fields := map[string]any{}
	if err := json.Unmarshal(management[infrav1.OSVersionKey].Raw, &fields); err != nil {
		return ""
	}
	image, _ := fields["imageUri"].(string)
	return image
}
