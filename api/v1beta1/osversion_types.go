// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package v1beta1

import "k8s.io/apimachinery/pkg/runtime"

// OSVersionKey is the key of the OS version in an osVersionManagement map. Its value is decoded as
// OSVersion; other keys are passed to the agent's OS plugin as they are.
const OSVersionKey = "osVersion"

// OSVersionManagement specifies the OS of a host for its OS plugin. The map is open, so that other
// plugins can define their own keys.
type OSVersionManagement map[string]runtime.RawExtension

// OSVersion is the value of the key "osVersion" as the elemental OS plugin reads it.
type OSVersion struct {
	// ImageURI is the OS image, for example "oci://registry.example.com/elemental-os:v1.2.0".
	// A reference without a scheme is an OCI reference.
	ImageURI string `json:"imageUri,omitempty"`
	// ManagedOSVersionName is a ManagedOSVersion of the Elemental operator, in the same namespace, whose
	// image is used instead of ImageURI. It is looked up once, when the name is first set.
	ManagedOSVersionName string `json:"managedOSVersionName,omitempty"`
	// ResolvedFrom is the ManagedOSVersionName that ImageURI was looked up for. The provider writes it;
	// if it differs from ManagedOSVersionName, ImageURI is ignored.
	ResolvedFrom string `json:"resolvedFrom,omitempty"`
	// UpgradeRecovery also upgrades the recovery system of the host. Default false.
	UpgradeRecovery bool `json:"upgradeRecovery,omitempty"`
	// Debug enables debug output of the elemental CLI. It is not part of the OS's identity: changing it starts no upgrade.
	Debug bool `json:"debug,omitempty"`
}
