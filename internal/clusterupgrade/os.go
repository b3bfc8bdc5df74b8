// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package clusterupgrade

import (
	"encoding/json"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/osversion"
)

// Image of the OS that a Cluster is upgraded to; empty before its ManagedOSVersion has been looked up.
func Image(upgrade *infrav1.ElementalClusterUpgrade) string {
	if image := upgrade.Spec.OSVersion.ImageURI; image != "" {
		return image
	}
	pin := osversion.Pin{}
	err := json.Unmarshal([]byte(upgrade.Annotations[infrav1.ResolvedOSVersionAnnotation]), &pin)
	if err != nil || pin.Name != upgrade.Spec.OSVersion.ManagedOSVersionName {
		return ""
	}
	return pin.Image
}

// Desired is the OS of a template with that of an upgrade in it. All else that the template says is kept: debug, keys of other OS plugins, and
// the recovery system where the upgrade does not say.
func Desired(upgrade *infrav1.ElementalClusterUpgrade, of infrav1.OSVersionManagement) infrav1.OSVersionManagement {
	return osversion.WithImage(of, Image(upgrade), upgrade.Spec.OSVersion.ManagedOSVersionName, upgrade.Spec.OSVersion.UpgradeRecovery)
}

// IsFor reports whether an attempt is for the OS of an upgrade. Whoever patches a template to another OS upgrades its nodes by hand.
func IsFor(upgrade *infrav1.ElementalClusterUpgrade, attempt *infrav1.ElementalHostUpgrade) bool {
	image := Image(upgrade)
	return image != "" && osversion.SameImage(image, attempt.Spec.ImageURI)
}

// IsOfTopology reports whether the topology controller of Cluster API would put a template back.
func IsOfTopology(template *infrav1.ElementalMachineTemplate) bool {
	_, owned := template.Labels[clusterv1.ClusterTopologyOwnedLabel]
	return owned
}
