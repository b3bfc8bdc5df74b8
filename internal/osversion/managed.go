// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package osversion

import (
	"encoding/json"

	casesensitive "k8s.io/apimachinery/pkg/util/json"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
)

// Managed is the ManagedOSVersion that an osVersionManagement names; empty if none.
func Managed(management infrav1.OSVersionManagement) string {
	version, err := Decode(management)
	if err != nil {
		return ""
	}
	return version.ManagedOSVersionName
}

// Unresolved is the ManagedOSVersion that has not been looked up yet; empty if the image is known.
func Unresolved(management infrav1.OSVersionManagement) string {
	version, err := Decode(management)
	if err != nil || !isUnresolved(&version) {
		return ""
	}
	return version.ManagedOSVersionName
}

// Resolve returns an osVersionManagement, which names a ManagedOSVersion, with the image of that.
func Resolve(management infrav1.OSVersionManagement, image string) infrav1.OSVersionManagement {
	return WithImage(management, image, Managed(management), nil)
}

// WithImage returns an osVersionManagement with an image, and the ManagedOSVersion that it was looked up for, if any. The recovery system is
// left as it is where upgradeRecovery is nil, and so is everything else, also the name by which the image is given: where clients apply what they
// have applied before, another name would be a second image. Of what cannot be decoded, fields of the right types are left.
func WithImage(management infrav1.OSVersionManagement, image, managed string, upgradeRecovery *bool) infrav1.OSVersionManagement {
	changed := *management.DeepCopy()
	if changed.OSVersion == nil {
		changed.OSVersion = &infrav1.OSVersion{}
		_ = casesensitive.Unmarshal(changed.Plugins[infrav1.OSVersionKey].Raw, changed.OSVersion)
		delete(changed.Plugins, infrav1.OSVersionKey)
	}
	version := changed.OSVersion
	if version.ImageURI == "" && version.ImageURIOfOperator != "" {
		version.ImageURIOfOperator = image
	} else {
		version.ImageURI, version.ImageURIOfOperator = image, ""
	}
	version.ManagedOSVersionName, version.ResolvedFrom = managed, managed
	if upgradeRecovery != nil {
		version.UpgradeRecovery = upgradeRecovery
	}
	return changed
}

// Pin is the result of looking up a template's ManagedOSVersion; the value of infrav1.ResolvedOSVersionAnnotation.
type Pin struct {
	Name  string `json:"managedOSVersionName"`
	Image string `json:"imageUri"`
}

// PinOf returns the Pin of a template. Nil if it names no ManagedOSVersion, specifies the image itself, or has not been looked up yet.
func PinOf(template *infrav1.ElementalMachineTemplate) *Pin {
	name, pin := Unresolved(template.Spec.Template.Spec.OSVersionManagement), Pin{}
	if name == "" {
		return nil
	}
	err := json.Unmarshal([]byte(template.Annotations[infrav1.ResolvedOSVersionAnnotation]), &pin)
	if err != nil || pin.Name != name || pin.Image == "" {
		return nil
	}
	return &pin
}

// OfTemplate is the OS that a template specifies, with the image of its ManagedOSVersion if that has been looked up.
func OfTemplate(template *infrav1.ElementalMachineTemplate) infrav1.OSVersionManagement {
	management := template.Spec.Template.Spec.OSVersionManagement
	pin := PinOf(template)
	if pin == nil {
		return management
	}
	return Resolve(management, pin.Image)
}
