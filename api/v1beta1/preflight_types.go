// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package v1beta1

// PreflightCheck is the name of a preflight check.
// +kubebuilder:validation:Enum=Paused;Approved;Quarantine;OtherAttempt;OtherUpgrades;NodeReady;NodeHealth;NodeSchedulable;Maintenance;OtherNodes;Machines;ControlPlaneQuorum;KubeletVersion;Certificates;KubeVirt;VirtAPI;VirtHandler;Migrations;Volumes;Backups
type PreflightCheck string

// PreflightChecks are the names of all preflight checks; the enum above is the same list.
func PreflightChecks() []PreflightCheck {
	return []PreflightCheck{
		"Paused", "Approved", "Quarantine", "OtherAttempt", "OtherUpgrades", "NodeReady", "NodeHealth", "NodeSchedulable", "Maintenance",
		"OtherNodes", "Machines", "ControlPlaneQuorum", "KubeletVersion", "Certificates", "KubeVirt", "VirtAPI", "VirtHandler",
		"Migrations", "Volumes", "Backups",
	}
}

// PreflightVerdict is the verdict of a preflight check.
// +kubebuilder:validation:Enum=Pass;Warn;Block
type PreflightVerdict string

// Verdicts of a preflight check.
const (
	PreflightPass  PreflightVerdict = "Pass"
	PreflightWarn  PreflightVerdict = "Warn"
	PreflightBlock PreflightVerdict = "Block"
)

// PreflightResult is the result of a check, and what to do about it.
type PreflightResult struct {
	// check that was run.
	// +required
	Check string `json:"check"`
	// verdict of the check.
	// +required
	Verdict PreflightVerdict `json:"verdict"`
	// object that the verdict concerns, for example "Node/node-2".
	// +optional
	Object string `json:"object,omitempty"`
	// message says what is wrong and what to do.
	// +optional
	Message string `json:"message,omitempty"`
}
