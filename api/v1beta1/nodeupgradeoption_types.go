// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package v1beta1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// NodeUpgradeMode is whether nodes are upgraded without approval.
// +kubebuilder:validation:Enum=auto;manual
type NodeUpgradeMode string

// Modes of a NodeUpgradeStrategy.
const (
	NodeUpgradeModeAuto   NodeUpgradeMode = "auto"
	NodeUpgradeModeManual NodeUpgradeMode = "manual"
)

// PrefetchPolicy is what a host does with the image before its node is cordoned.
// +kubebuilder:validation:Enum=Download;Stage;None
type PrefetchPolicy string

// Prefetch policies.
const (
	// PrefetchDownload resolves, downloads and verifies the image.
	PrefetchDownload PrefetchPolicy = "Download"
	// PrefetchStage would also write the passive snapshot while the booted one stays the default. The elemental
	// CLI has no such command, so it has the effect of Download.
	PrefetchStage PrefetchPolicy = "Stage"
	// PrefetchNone only resolves the image to a digest.
	PrefetchNone PrefetchPolicy = "None"
)

// ReplacementPolicy is the policy for changes that cannot be made in place.
// +kubebuilder:validation:Enum=Deny;Allow
type ReplacementPolicy string

// Replacement policies.
const (
	// ReplacementDeny stops the rollout, so that it never resets a host.
	ReplacementDeny ReplacementPolicy = "Deny"
	// ReplacementAllow lets Cluster API replace the Machines.
	ReplacementAllow ReplacementPolicy = "Allow"
)

// VMPolicy is the policy for virtual machines that cannot be live-migrated.
// +kubebuilder:validation:Enum=Block;Migrate;Shutdown;ShutdownAndRestore
type VMPolicy string

// VM policies.
const (
	VMPolicyBlock              VMPolicy = "Block"
	VMPolicyMigrate            VMPolicy = "Migrate"
	VMPolicyShutdown           VMPolicy = "Shutdown"
	VMPolicyShutdownAndRestore VMPolicy = "ShutdownAndRestore"
)

// RollbackPolicy is the policy for nodes whose host fell back to its former OS.
// +kubebuilder:validation:Enum=Uncordon;KeepCordoned
type RollbackPolicy string

// Rollback policies.
const (
	RollbackUncordon     RollbackPolicy = "Uncordon"
	RollbackKeepCordoned RollbackPolicy = "KeepCordoned"
)

// NodeUpgradeOption configures how the nodes of a cluster are upgraded in place. The options in force when
// a rollout begins apply to the whole rollout.
type NodeUpgradeOption struct {
	// strategy defines which nodes wait for approval before they are cordoned.
	// +optional
	Strategy NodeUpgradeStrategy `json:"strategy,omitempty,omitzero"`

	// maxConcurrent is the maximum number of nodes of the cluster that are disrupted at a time. Control
	// plane nodes are always upgraded one at a time. Default 1.
	// +optional
	// +kubebuilder:validation:Minimum=1
	MaxConcurrent int32 `json:"maxConcurrent,omitempty"`

	// prefetch defines what a host does with the image before its node is cordoned. Default Download. Stage has the effect of
	// Download, because the elemental CLI cannot write a snapshot without making it the default of the next boot.
	// +optional
	Prefetch PrefetchPolicy `json:"prefetch,omitempty"`

	// replacement is the policy for changes that cannot be made in place. Default Deny: a rollout never
	// resets a host.
	// +optional
	Replacement ReplacementPolicy `json:"replacement,omitempty"`

	// vmPolicy is the policy for virtual machines that cannot be live-migrated. Default Block.
	// +optional
	VMPolicy VMPolicy `json:"vmPolicy,omitempty"`

	// onRollback is the policy for a node whose host fell back to its former OS, if that passed its
	// assessment. Default Uncordon.
	// +optional
	OnRollback RollbackPolicy `json:"onRollback,omitempty"`

	// timeouts of the steps. When one expires, the upgrade keeps waiting and reports it; only the timeout of the
	// reboot ends it.
	// +optional
	Timeouts UpgradeTimeouts `json:"timeouts,omitempty,omitzero"`
}

// NodeUpgradeStrategy defines which nodes wait for approval before they are cordoned. The fields are
// named as in Harvester's nodeUpgradeOption.
type NodeUpgradeStrategy struct {
	// mode "auto" (default) upgrades one node after another; "manual" pauses the nodes in pauseNodes.
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
	// reboot, from the trigger to a new boot of the host. Default 30m. When it expires, the attempt is
	// HostLost and MachineHealthChecks apply to the Machine again.
	// +optional
	Reboot *metav1.Duration `json:"reboot,omitempty"`
	// assessment of the booted host and node. Default 15m.
	// +optional
	Assessment *metav1.Duration `json:"assessment,omitempty"`
	// settle is for the node's storage. Default 1h.
	// +optional
	Settle *metav1.Duration `json:"settle,omitempty"`
}
