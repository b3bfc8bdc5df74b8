// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package v1beta1

import (
	"encoding/json"
	"fmt"

	"k8s.io/apimachinery/pkg/runtime"
	casesensitive "k8s.io/apimachinery/pkg/util/json"
)

// OSVersionKey is the key of the OS version in osVersionManagement.
const OSVersionKey = "osVersion"

// OSVersionManagement specifies the OS of a host for its OS plugin. Keys beside osVersion are those of other OS plugins, which are kept, and
// passed to the agent as they are. It is applied as a whole: a key that an applied object does not have is removed, whoever set it.
//
// +structType=atomic
// +kubebuilder:pruning:PreserveUnknownFields
type OSVersionManagement struct {
	// osVersion is the OS version, as the elemental OS plugin reads it. Default: the OS is not managed.
	// +optional
	// +nullable
	OSVersion *OSVersion `json:"osVersion,omitempty"`

	// Plugins has the other keys, with their values as they are. It also has an osVersion that is no OSVersion: the schema of version 0.7
	// accepted any.
	Plugins map[string]runtime.RawExtension `json:"-"`
}

// No field of OSVersion may have a default: it would change the content of templates that are stored, and so roll them out.

// OSVersion is the OS version of a host.
//
// +kubebuilder:validation:XValidation:rule="!has(self.imageURI) || !has(self.imageUri) || self.imageURI == self.imageUri",message="imageUri is another name of imageURI, and they differ: remove imageUri"
type OSVersion struct {
	// imageURI is the OS image, for example "oci://registry.example.com/elemental-os:v1.2.0". A reference without a scheme is
	// an OCI reference. What is not in a registry, as with "http:" or "dir:", is rejected.
	// +optional
	// +nullable
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=4096
	ImageURI string `json:"imageURI,omitempty"`
	// imageUri is imageURI, by the name that the Elemental operator has for it. Use imageURI in new templates.
	// +optional
	// +nullable
	// +kubebuilder:validation:MaxLength=4096
	ImageURIOfOperator string `json:"imageUri,omitempty"`
	// managedOSVersionName is a ManagedOSVersion of the Elemental operator, in the same namespace, whose image is used instead
	// of imageURI. It is looked up once, when the name is first set.
	// +optional
	// +nullable
	// +kubebuilder:validation:MaxLength=253
	ManagedOSVersionName string `json:"managedOSVersionName,omitempty"`
	// resolvedFrom is the managedOSVersionName that imageURI was looked up for. The provider writes it; if it differs from
	// managedOSVersionName, imageURI is ignored.
	// +optional
	// +nullable
	// +kubebuilder:validation:MaxLength=253
	ResolvedFrom string `json:"resolvedFrom,omitempty"`
	// upgradeRecovery also upgrades the recovery system of the host. Default false.
	// +optional
	// +nullable
	UpgradeRecovery *bool `json:"upgradeRecovery,omitempty"`
	// debug enables debug output of the elemental CLI. It is not part of the OS's identity: changing it starts no upgrade.
	// Default false.
	// +optional
	// +nullable
	Debug *bool `json:"debug,omitempty"`
}

// Image is the image of an OS version, by whichever of its two names; empty if there is none.
func (v *OSVersion) Image() string {
	switch {
	case v == nil:
		return ""
	case v.ImageURI != "":
		return v.ImageURI
	}
	return v.ImageURIOfOperator
}

// IsZero reports whether nothing is specified.
func (m OSVersionManagement) IsZero() bool { return m.OSVersion == nil && len(m.Plugins) == 0 }

// UnmarshalJSON accepts every object: one that an earlier version has stored must not keep the manager from reading the others of its kind.
func (m *OSVersionManagement) UnmarshalJSON(raw []byte) error {
	keys := map[string]runtime.RawExtension{}
	if err := json.Unmarshal(raw, &keys); err != nil {
		return fmt.Errorf("decoding osVersionManagement: %w", err)
	}
	*m = OSVersionManagement{}
	version := OSVersion{}
	switch value := keys[OSVersionKey].Raw; {
	case len(value) == 0: // none, or null
		delete(keys, OSVersionKey)
	case casesensitive.Unmarshal(value, &version) == nil:
		delete(keys, OSVersionKey)
		m.OSVersion = &version
	}
	if len(keys) > 0 {
		m.Plugins = keys
	}
	return nil
}

// MarshalJSON writes all keys beside each other.
func (m OSVersionManagement) MarshalJSON() ([]byte, error) {
	keys := make(map[string]any, len(m.Plugins)+1)
	for key, value := range m.Plugins {
		keys[key] = value
	}
	if m.OSVersion != nil {
		keys[OSVersionKey] = m.OSVersion
	}
	return json.Marshal(keys)
}
