// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package v1beta1

import "k8s.io/apimachinery/pkg/runtime"

// OSVersionKey is the key of the OS version in an osVersionManagement map. Its value is decoded as
// OSVersion; other keys are passed to the agent's OS plugin as they are.
const OSVersionKey = "osVersion"

// OSVersionManagement specifies the OS of a host for its OS plugin. The map is open, so that other
// plugins can define their own keys. It is applied as a whole: a key that an applied object does not have is removed, whoever set it.
type OSVersionManagement map[string]runtime.RawExtension

// hack/crds makes the schema of ElementalMachineTemplates from OSVersion and its comments. No field may have a default there: it
// would change the content of templates that are stored, and so roll them out. The schemas of the other kinds stay open:
// KubeadmControlPlane deletes a Machine if a dry run of its ElementalMachine is refused.

// OSVersion is the OS version, as the elemental OS plugin reads it. Other fields are kept, and passed to the agent.
type OSVersion struct {
	// imageUri is the OS image, for example "oci://registry.example.com/elemental-os:v1.2.0". A reference without a scheme is
	// an OCI reference. What is not in a registry, as with "http:" or "dir:", is rejected.
	// +nullable
	ImageURI string `json:"imageUri,omitempty"`
	// managedOSVersionName is a ManagedOSVersion of the Elemental operator, in the same namespace, whose image is used instead
	// of imageUri. It is looked up once, when the name is first set.
	// +nullable
	ManagedOSVersionName string `json:"managedOSVersionName,omitempty"`
	// resolvedFrom is the managedOSVersionName that imageUri was looked up for. The provider writes it; if it differs from
	// managedOSVersionName, imageUri is ignored.
	// +nullable
	ResolvedFrom string `json:"resolvedFrom,omitempty"`
	// upgradeRecovery also upgrades the recovery system of the host. Default false.
	// +nullable
	UpgradeRecovery bool `json:"upgradeRecovery,omitempty"`
	// debug enables debug output of the elemental CLI. It is not part of the OS's identity: changing it starts no upgrade.
	// Default false.
	// +nullable
	Debug bool `json:"debug,omitempty"`
}
