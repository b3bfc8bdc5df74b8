// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package webhooks

import (
	"fmt"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/imageuri"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/osversion"
)

// validateOS rejects an OS version whose fields have other types than those of the schema. Only what is stored already can have one.
func validateOS(management infrav1.OSVersionManagement, path *field.Path) field.ErrorList {
	if _, err := osversion.Decode(management); err != nil {
		raw := string(management.Plugins[infrav1.OSVersionKey].Raw)
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
	image := osversion.Image(after)
	if image == "" || equality.Semantic.DeepEqual(before, after) {
		return nil
	}
	if _, err := imageuri.Parse(image); err != nil {
		key := "imageURI"
		if after.OSVersion.ImageURI == "" {
			key = "imageUri"
		}
		return field.ErrorList{field.Invalid(path.Child("osVersionManagement", infrav1.OSVersionKey, key), image, err.Error())}
	}
	return nil
}

// warnOfOS warns of an image that has no effect.
func warnOfOS(before, after infrav1.OSVersionManagement) admission.Warnings {
	name := osversion.Unresolved(after)
	if name == "" || after.OSVersion.Image() == "" || after.OSVersion.Image() == before.OSVersion.Image() {
		return nil
	}
	return admission.Warnings{fmt.Sprintf("osVersion.imageURI is ignored because managedOSVersionName %.60q is set: remove that to use this image", name)}
}
