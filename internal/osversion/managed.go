// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package osversion

import (
	"encoding/json"
	"fmt"
	"maps"

	"k8s.io/apimachinery/pkg/runtime"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
)

// Keys of the value of infrav1.OSVersionKey.
const (
	imageKey        = "imageUri"
	managedKey      = "managedOSVersionName"
	resolvedFromKey = "resolvedFrom"

	upgradeRecoveryKey = "upgradeRecovery"
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
	if err != nil || version.ManagedOSVersionName == version.ResolvedFrom {
		return ""
	}
	return version.ManagedOSVersionName
}

// Resolve returns an osVersionManagement with the image of its ManagedOSVersion.
func Resolve(management infrav1.OSVersionManagement, image string) (infrav1.OSVersionManagement, error) {
	fields := map[string]json.RawMessage{}
	if err := json.Unmarshal(management[infrav1.OSVersionKey].Raw, &fields); err != nil {
		return nil, fmt.Errorf("decoding osVersionManagement.%s: %w", infrav1.OSVersionKey, err)
	}
	encoded, err := json.Marshal(image)
	if err != nil {
		return nil, fmt.Errorf("encoding image %q: %w", image, err)
	}
	fields[imageKey], fields[resolvedFromKey] = encoded, fields[managedKey]
	raw, err := json.Marshal(fields)
	if err != nil {
		return nil, fmt.Errorf("encoding osVersionManagement.%s: %w", infrav1.OSVersionKey, err)
	}
	resolved := maps.Clone(management)
	resolved[infrav1.OSVersionKey] = runtime.RawExtension{Raw: raw}
	return resolved, nil
}

// WithImage returns an osVersionManagement with an image, and the ManagedOSVersion that it was looked up for, if any. The recovery system is
// left as it is where upgradeRecovery is nil, and so is everything else.
func WithImage(management infrav1.OSVersionManagement, image, managed string, upgradeRecovery *bool) (infrav1.OSVersionManagement, error) {
	fields := map[string]any{}
	if raw := management[infrav1.OSVersionKey].Raw; len(raw) > 0 {
		if err := json.Unmarshal(raw, &fields); err != nil {
			return nil, fmt.Errorf("decoding osVersionManagement.%s: %w", infrav1.OSVersionKey, err)
		}
	}
	if fields == nil { // null
		fields = map[string]any{}
	}
	fields[imageKey] = image
	delete(fields, managedKey)
	delete(fields, resolvedFromKey)
	if managed != "" {
		fields[managedKey], fields[resolvedFromKey] = managed, managed
	}
	if upgradeRecovery != nil {
		fields[upgradeRecoveryKey] = *upgradeRecovery
	}
	raw, err := json.Marshal(fields)
	if err != nil {
		return nil, fmt.Errorf("encoding osVersionManagement.%s: %w", infrav1.OSVersionKey, err)
	}
	changed := infrav1.OSVersionManagement{}
	maps.Copy(changed, management)
	changed[infrav1.OSVersionKey] = runtime.RawExtension{Raw: raw}
	return changed, nil
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
	resolved, err := Resolve(management, pin.Image)
	if err != nil {
		return management
	}
	return resolved
}

// identify removes from an OS version what does not identify it: the source of its image or, before the lookup, an image that is ignored.
func identify(fields map[string]any) {
	name, _ := fields[managedKey].(string)
	if name == "" || fields[resolvedFromKey] == fields[managedKey] {
		delete(fields, managedKey)
	} else {
		delete(fields, imageKey)
	}
	delete(fields, resolvedFromKey)
}
