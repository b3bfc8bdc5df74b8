// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package v1beta1

import "strings"

// NodeUpgradeMode is whether nodes are upgraded without approval. Harvester writes "auto" and "manual"; both are accepted.
// +kubebuilder:validation:Enum=Auto;Manual;auto;manual
type NodeUpgradeMode string

// Modes of a NodeUpgradeStrategy.
const (
	NodeUpgradeModeAuto   NodeUpgradeMode = "Auto"
	NodeUpgradeModeManual NodeUpgradeMode = "Manual"
)

// PrefetchPolicy is what a host does with the image before its node is cordoned.
// +kubebuilder:validation:Enum=Download;None
type PrefetchPolicy string

// Prefetch policies.
const (
	// PrefetchDownload resolves, downloads and verifies the image.
	PrefetchDownload PrefetchPolicy = "Download"
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
// a rollout begins apply to the whole rollout, but for allowQuorumLoss.
type NodeUpgradeOption struct {
	// strategy defines which nodes wait for approval before they are cordoned.
	// +optional
	Strategy NodeUpgradeStrategy `json:"strategy,omitempty,omitzero"`

	// maxConcurrent is the maximum number of nodes of the cluster that are disrupted at a time. Control
	// plane nodes are always upgraded one at a time. Default 1.
	// +optional
	// +default=1
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=1000
	MaxConcurrent int32 `json:"maxConcurrent,omitempty"`

	// allowQuorumLoss permits upgrades of a control plane of one or two nodes. Its etcd has no majority while a host reboots, so that the
	// API of the workload cluster is down for that time. It is read from the ElementalCluster as it is now, also for upgrades that have
	// begun. Default false.
	// +optional
	AllowQuorumLoss bool `json:"allowQuorumLoss,omitempty"`

	// prefetch defines what a host does with the image before its node is cordoned: Download, the default, fetches and verifies
	// it, and None only resolves it to a digest.
	// +optional
	// +default="Download"
	Prefetch PrefetchPolicy `json:"prefetch,omitempty"`

	// replacement is the policy for changes that cannot be made in place. Default Deny: a rollout never
	// resets a host.
	// +optional
	// +default="Deny"
	Replacement ReplacementPolicy `json:"replacement,omitempty"`

	// vmPolicy is the policy for virtual machines that cannot be live-migrated. Default Block.
	// +optional
	// +default="Block"
	VMPolicy VMPolicy `json:"vmPolicy,omitempty"`

	// onRollback is the policy for a node whose host fell back to its former OS, if that passed its
	// assessment. Default Uncordon.
	// +optional
	// +default="Uncordon"
	OnRollback RollbackPolicy `json:"onRollback,omitempty"`

	// timeouts of the steps. When one expires, the upgrade keeps waiting and reports it; only the timeout of the
	// reboot ends it.
	// +optional
	Timeouts UpgradeTimeouts `json:"timeouts,omitempty,omitzero"`
}

// NodeUpgradeStrategy defines which nodes wait for approval before they are cordoned. The fields are
// named as in Harvester's nodeUpgradeOption.
type NodeUpgradeStrategy struct {
	// mode Auto (default) upgrades one node after another; Manual pauses the nodes in pauseNodes.
	// +optional
	// +default="Auto"
	Mode NodeUpgradeMode `json:"mode,omitempty"`
	// pauseNodes are the names of the nodes that pause in mode Manual. Empty: all of them.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=1000
	// +kubebuilder:validation:items:MaxLength=253
	PauseNodes []string `json:"pauseNodes,omitempty"`
}

// IsManual reports whether the nodes in pauseNodes pause.
func (s NodeUpgradeStrategy) IsManual() bool {
	return strings.EqualFold(string(s.Mode), string(NodeUpgradeModeManual))
}

// UpgradeTimeouts are the times after which a step is reported as overdue.
type UpgradeTimeouts struct {
	// evacuationSeconds is for the evacuation of virtual machines. Default 3600.
	// +optional
	// +default=3600
	// +kubebuilder:validation:Minimum=1
	EvacuationSeconds *int32 `json:"evacuationSeconds,omitempty"`
	// drainSeconds is for the drain of the node, and again for the detachment of its volumes. Default 1800.
	// +optional
	// +default=1800
	// +kubebuilder:validation:Minimum=1
	DrainSeconds *int32 `json:"drainSeconds,omitempty"`
	// rebootSeconds is for the time from the trigger to a new boot of the host. Default 1800. When it expires, the attempt is
	// HostLost and MachineHealthChecks apply to the Machine again.
	// +optional
	// +default=1800
	// +kubebuilder:validation:Minimum=1
	RebootSeconds *int32 `json:"rebootSeconds,omitempty"`
	// assessmentSeconds is for the assessment of the booted host and node. Default 900.
	// +optional
	// +default=900
	// +kubebuilder:validation:Minimum=1
	AssessmentSeconds *int32 `json:"assessmentSeconds,omitempty"`
	// settleSeconds is for the node's storage. Default 3600.
	// +optional
	// +default=3600
	// +kubebuilder:validation:Minimum=1
	SettleSeconds *int32 `json:"settleSeconds,omitempty"`
}
