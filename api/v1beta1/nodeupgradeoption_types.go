// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package v1beta1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// NodeUpgradeMode says whether node upgrades run by themselves.
// +kubebuilder:validation:Enum=auto;manual
type NodeUpgradeMode string

// Modes of a NodeUpgradeStrategy.
const (
	NodeUpgradeModeAuto   NodeUpgradeMode = "auto"
	NodeUpgradeModeManual NodeUpgradeMode = "manual"
)

// PrefetchPolicy says what a host does with the image before its node is touched.
// +kubebuilder:validation:Enum=Download;Stage;None
type PrefetchPolicy string

// Prefetch policies.
const (
	// PrefetchDownload resolves, downloads and verifies the image.
	PrefetchDownload PrefetchPolicy = "Download"
	// PrefetchStage also writes the passive slot, where the booted snapshot provably stays the default. The elemental
	// CLI has no such command, so that it has the effect of Download.
	PrefetchStage PrefetchPolicy = "Stage"
	// PrefetchNone only resolves the image to a digest.
	PrefetchNone PrefetchPolicy = "None"
)

// ReplacementPolicy says what becomes of a change that cannot be made in place.
// +kubebuilder:validation:Enum=Deny;Allow
type ReplacementPolicy string

// Replacement policies.
const (
	// ReplacementDeny stops the rollout, so that no host is ever reset because of it.
	ReplacementDeny ReplacementPolicy = "Deny"
	// ReplacementAllow lets Cluster API replace the Machines.
	ReplacementAllow ReplacementPolicy = "Allow"
)

// VMPolicy says what becomes of virtual machines that cannot live-migrate.
// +kubebuilder:validation:Enum=Block;Migrate;Shutdown;ShutdownAndRestore
type VMPolicy string

// VM policies.
const (
	VMPolicyBlock              VMPolicy = "Block"
	VMPolicyMigrate            VMPolicy = "Migrate"
	VMPolicyShutdown           VMPolicy = "Shutdown"
	VMPolicyShutdownAndRestore VMPolicy = "ShutdownAndRestore"
)

// RollbackPolicy says what becomes of a node whose host fell back to its former OS.
// +kubebuilder:validation:Enum=Uncordon;KeepCordoned
type RollbackPolicy string

// Rollback policies.
const (
	RollbackUncordon     RollbackPolicy = "Uncordon"
	RollbackKeepCordoned RollbackPolicy = "KeepCordoned"
)

// NodeUpgradeOption says how the nodes of a cluster are upgraded in place. The options in force when
// a rollout is first seen hold for the whole of it.
type NodeUpgradeOption struct {
	// strategy says which nodes wait for a person before they are cordoned.
	// +optional
	Strategy NodeUpgradeStrategy `json:"strategy,omitempty,omitzero"`

	// maxConcurrent is how many nodes of the cluster may be disrupted at a time. Control plane nodes
	// are upgraded one at a time whatever it says. Default 1.
	// +optional
	// +kubebuilder:validation:Minimum=1
	MaxConcurrent int32 `json:"maxConcurrent,omitempty"`

	// prefetch says what a host does with the image before its node is touched. Default Download. Stage has the effect of
	// Download: the elemental CLI cannot write a snapshot without making it the default of the next boot.
	// +optional
	Prefetch PrefetchPolicy `json:"prefetch,omitempty"`

	// replacement says what becomes of a change that cannot be made in place. Default Deny: no host is
	// ever reset by a rollout.
	// +optional
	Replacement ReplacementPolicy `json:"replacement,omitempty"`

	// vmPolicy says what becomes of virtual machines that cannot live-migrate. Default Block.
	// +optional
	VMPolicy VMPolicy `json:"vmPolicy,omitempty"`

	// onRollback says what becomes of a node whose host fell back to its former OS and found that
	// good. Default Uncordon.
	// +optional
	OnRollback RollbackPolicy `json:"onRollback,omitempty"`

	// timeouts of the steps. When one passes, the upgrade holds and says so; only the time-out of the
	// reboot ends it.
	// +optional
	Timeouts UpgradeTimeouts `json:"timeouts,omitempty,omitzero"`
}

// NodeUpgradeStrategy says which nodes wait for a person before they are cordoned. The names are
// those of Harvester's nodeUpgradeOption.
type NodeUpgradeStrategy struct {
	// mode "auto" (default) upgrades node after node; "manual" pauses the nodes in pauseNodes.
	// +optional
	Mode NodeUpgradeMode `json:"mode,omitempty"`
	// pauseNodes are the names of the nodes that pause in mode "manual". Empty: all of them.
	// +optional
	// +listType=set
	PauseNodes []string `json:"pauseNodes,omitempty"`
}

// UpgradeTimeouts are the times after which a step is reported as overdue.
type UpgradeTimeouts struct {
	// evacuation of virtual machines. Default 1h.
	// +optional
	Evacuation *metav1.Duration `json:"evacuation,omitempty"`
	// drain of the node. Default 30m.
	// +optional
	Drain *metav1.Duration `json:"drain,omitempty"`
	// reboot, from the trigger to a new boot of the host. Default 30m. When it passes, the attempt is
	// HostLost and MachineHealthChecks see the Machine again.
	// +optional
	Reboot *metav1.Duration `json:"reboot,omitempty"`
	// assessment of the booted host and node. Default 15m.
	// +optional
	Assessment *metav1.Duration `json:"assessment,omitempty"`
	// settle is for the node's storage. Default 1h.
	// +optional
	Settle *metav1.Duration `json:"settle,omitempty"`
}
