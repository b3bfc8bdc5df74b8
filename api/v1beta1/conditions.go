// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package v1beta1

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Condition types and reasons of ElementalCluster.
const (
	// CAPIClusterReadyCondition reports whether the ElementalCluster has an owning Cluster.
	CAPIClusterReadyCondition = "CAPIClusterReady"
	MissingClusterOwnerReason = "MissingClusterOwner"

	// ControlPlaneEndpointReadyCondition reports whether spec.controlPlaneEndpoint is set.
	ControlPlaneEndpointReadyCondition = "ControlPlaneEndpointReady"
	MissingControlPlaneEndpointReason  = "MissingControlPlaneEndpoint"

	// KubeconfigUsableCondition reports whether the manager accepts the kubeconfig of the Cluster. It is set once the
	// Secret CLUSTER-kubeconfig exists.
	KubeconfigUsableCondition = "KubeconfigUsable"
	KubeconfigRefusedReason   = "KubeconfigRefused"

	// NodesUpToDateCondition reports whether all nodes run the OS that their owners want. Its message is the
	// status line of the cluster.
	NodesUpToDateCondition = "NodesUpToDate"
	NodesUpToDateReason    = "NodesUpToDate"
	NodesUpgradingReason   = "NodesUpgrading"
	NodesHeldReason        = "NodesHeld"
	NodesDriftedReason     = "NodesDrifted"
	NodesWaitingReason     = "NodesWaiting"
	NoNodesReason          = "NoNodes"

	// PauseNodesKnownCondition reports whether all names of strategy.pauseNodes are nodes of the cluster. It is set while
	// the strategy is manual, or was when a running rollout began.
	PauseNodesKnownCondition = "PauseNodesKnown"
	UnknownNodesReason       = "UnknownNodes"
)

// Condition types and reasons of ElementalMachine.
const (
	// AssociationReadyCondition reports whether an ElementalHost serves the ElementalMachine.
	AssociationReadyCondition               = "AssociationReady"
	MissingMachineOwnerReason               = "MissingMachineOwner"
	MissingAssociatedClusterReason          = "MissingAssociatedCluster"
	MissingClusterInfrastructureReadyReason = "MissingClusterInfrastructureReady"
	MissingBootstrapSecretReason            = "MissingBootstrapSecret"
	MissingAvailableHostsReason             = "MissingAvailableHosts"
	AssociatedHostNotFoundReason            = "AssociatedHostNotFound"
	AssociatedHostReplacedReason            = "AssociatedHostReplaced"
	InvalidSelectorReason                   = "InvalidSelector"

	// HostReadyCondition reports whether the associated host has been bootstrapped.
	HostReadyCondition            = "HostReady"
	HostWaitingForInstallReason   = "HostWaitingForInstall"
	HostWaitingForOSReason        = "HostWaitingForOS"
	HostWaitingForBootstrapReason = "HostWaitingForBootstrap"

	// ProviderIDReadyCondition reports whether the Node carries the provider ID of the ElementalMachine.
	ProviderIDReadyCondition                = "ProviderIDReady"
	NodeNotFoundReason                      = "NodeNotFound"
	NodeProviderIDMismatchReason            = "NodeProviderIDMismatch"
	NodeBootIDMismatchReason                = "NodeBootIDMismatch"
	WaitingForControlPlaneInitializedReason = "WaitingForControlPlaneInitialized"
	WorkloadClusterUnreachableReason        = "WorkloadClusterUnreachable"

	// OSUpToDateCondition reports whether the ElementalMachine specifies the OS of its template, and its
	// host runs that OS. Cluster API's condition UpToDate of a Machine compares references instead.
	OSUpToDateCondition     = "OSUpToDate"
	TemplateDiffersReason   = "TemplateDiffers"
	HostRunsOtherOSReason   = "HostRunsOtherOS"
	UpgradeInProgressReason = "UpgradeInProgress"
	WaitingForNodeReason    = "WaitingForNode"
	OSNotManagedReason      = "OSNotManaged"
	HostOSUnknownReason     = "HostOSUnknown"

	// OSDriftedCondition is True while the host runs an OS other than the one that the ElementalMachine specifies,
	// outside of any attempt, for example after a fallback weeks later.
	OSDriftedCondition        = "OSDrifted"
	HostFellBackReason        = "HostFellBack"
	NotDriftedReason          = "NotDrifted"
	AttemptNotSucceededReason = "AttemptNotSucceeded"
	HostNotBootstrappedReason = "HostNotBootstrapped"

	// UpdateMarkRestoredCondition is True on an ElementalMachine while the provider has to restore the mark by which Cluster API updates its
	// Machine in place: Cluster API, or a user, has removed it, and the host does not run the OS. It is absent where no mark was lost.
	UpdateMarkRestoredCondition = "UpdateMarkRestored"
	MarkLostReason              = "MarkLost"
	MarkLostAgainReason         = "MarkLostAgain"
	MarkNotLostReason           = "MarkNotLost"

	// DisruptedCondition is True while an attempt has the Node of an ElementalMachine out of service. Ready is False with the same reason, and Cluster API
	// mirrors Ready to InfrastructureReady of the Machine. It is absent before the first disruption.
	DisruptedCondition = "Disrupted"
	UpgradingReason    = "Upgrading"
	HostLostReason     = "HostLost"
	NotDisruptedReason = "NotDisrupted"

	// DeletingCondition reports what the deletion of the object waits for.
	DeletingCondition        = "Deleting"
	WaitingForHostIdleReason = "WaitingForHostIdle"

	// EvacuatingCondition is set on the ElementalMachine while the deletion of its Machine waits for virtual machines of
	// its Node; the message names them.
	EvacuatingCondition             = "Evacuating"
	EvacuatingVirtualMachinesReason = "EvacuatingVirtualMachines"
	EvacuationHeldReason            = "EvacuationHeld"
)

// Condition types and reasons of ElementalHost.
const (
	// ApprovedCondition reports whether an operator, or the registration's policy, has approved the host.
	ApprovedCondition        = "Approved"
	WaitingForApprovalReason = "WaitingForApproval"

	// IdentityInUseTwiceCondition is True while the boot ids reported with one key alternate, which means that two machines
	// have that key. It is absent otherwise.
	IdentityInUseTwiceCondition = "IdentityInUseTwice"
	BootIDsAlternateReason      = "BootIDsAlternate"

	// WorkDirVolatileCondition is True while the host would lose its identity and the state of its attempt with a reboot. It is
	// absent otherwise.
	WorkDirVolatileCondition = "WorkDirVolatile"
	LostWithRebootReason     = "LostWithReboot"

	// AgentOutdatedCondition is True while the host is run by an agent of version 0.7 or older, whose requests are refused. It is
	// absent otherwise.
	AgentOutdatedCondition  = "AgentOutdated"
	AgentNotSupportedReason = "AgentNotSupported"

	// AgentNotRespondingCondition is True while the host has not answered what it is asked for, for two minutes. It is absent otherwise: an agent that is idle
	// sends no heartbeat.
	AgentNotRespondingCondition = "AgentNotResponding"
	RequestNotAnsweredReason    = "RequestNotAnswered"

	// RegistrationReadyCondition reports whether the host has registered.
	RegistrationReadyCondition = "RegistrationReady"
	RegistrationFailedReason   = "RegistrationFailed"

	// InstallationReadyCondition reports whether the host has an installed OS.
	InstallationReadyCondition   = "InstallationReady"
	WaitingForInstallationReason = "WaitingForInstallation"
	InstallationFailedReason     = "InstallationFailed"

	// BootstrapReadyCondition reports whether the host has applied its bootstrap data.
	BootstrapReadyCondition   = "BootstrapReady"
	WaitingForBootstrapReason = "WaitingForBootstrap"
	BootstrapFailedReason     = "BootstrapFailed"

	// ResetReadyCondition reports whether a requested reset has been carried out.
	ResetReadyCondition   = "ResetReady"
	WaitingForResetReason = "WaitingForReset"
	ResetFailedReason     = "ResetFailed"
	NodeNotDeletedReason  = "NodeNotDeleted"
	DeniedKeysFullReason  = "DeniedKeysFull"
	ServesNoMachineReason = "ServesNoMachine"

	// OSVersionReadyCondition reports whether the host runs the OS of its spec.
	OSVersionReadyCondition             = "OSVersionReady"
	WaitingForOSReconcileReason         = "WaitingForOSReconcile"
	InPlaceUpdateNotPendingReason       = "InPlaceUpdateNotPending"
	OSVersionReconciliationFailedReason = "OSVersionReconciliationFailed"
	RolledBackReason                    = "RolledBack"
	UnmanagedReason                     = "Unmanaged"
)

// Condition types and reasons of ElementalMachineTemplate.
const (
	// RolloutBlockedCondition is True while the next Machine of a patched template cannot be upgraded, or an owner that was rotated to the template would
	// have Machines replaced.
	RolloutBlockedCondition       = "RolloutBlocked"
	FeatureGatesOffReason         = "FeatureGatesOff"
	FeatureGatesUnknownReason     = "FeatureGatesUnknown"
	ExtensionNotReadyReason       = "ExtensionNotReady"
	ExtensionNotMatchingReason    = "ExtensionNotMatching"
	CompetingExtensionReason      = "CompetingExtension"
	UnsupportedStrategyReason     = "UnsupportedStrategy"
	UnsupportedControlPlaneReason = "UnsupportedControlPlane"
	// NamespaceNotOptedInReason: the Namespace does not have the label that is the consent to upgrades in place.
	NamespaceNotOptedInReason = "NamespaceNotOptedIn"
	// WaitingForMachineReason: a Machine that is next cannot be upgraded yet.
	WaitingForMachineReason = "WaitingForMachine"
	// WaitingForRancherReason: the Machines are upgraded when Rancher drains their Nodes.
	WaitingForRancherReason = "WaitingForRancher"
	// DrainHooksMissingReason: the drain options of a Cluster that Rancher has provisioned do not have the hooks of this provider.
	DrainHooksMissingReason = "DrainHooksMissing"
	// WaitingForClusterReason: the Cluster, or the owner, is paused or missing.
	WaitingForClusterReason = "WaitingForCluster"
	// ManagedByTopologyReason: the template belongs to the topology of a Cluster, which would put it back.
	ManagedByTopologyReason = "ManagedByTopology"
	// BlockedReason: what is in the way has no reason of its own.
	BlockedReason    = "Blocked"
	NotBlockedReason = "NotBlocked"

	// RolledOutCondition reports whether all Machines that were made from the template, or whose owner refers to it, run its OS.
	RolledOutCondition        = "RolledOut"
	RolledOutReason           = "RolledOut"
	MachinesNotUpToDateReason = "MachinesNotUpToDate"
	// NotObservedReason: the Machines could not be looked at since the template was changed.
	NotObservedReason = "NotObserved"
)

// OSVersionResolvedCondition of an ElementalMachineTemplate reports whether its managedOSVersionName was resolved
// to an image. AssociationReady and OSUpToDate of an ElementalMachine, and OSVersionReady of an ElementalHost, have
// the same reasons.
const (
	OSVersionResolvedCondition          = "OSVersionResolved"
	ManagedOSVersionsNotInstalledReason = "ManagedOSVersionsNotInstalled"
	ManagedOSVersionNotFoundReason      = "ManagedOSVersionNotFound"
	ManagedOSVersionNotContainerReason  = "ManagedOSVersionNotContainer"
	ManagedOSVersionWithoutImageReason  = "ManagedOSVersionWithoutImage"
	WaitingForOSVersionReason           = "WaitingForOSVersion"
	// InvalidOSVersionReason: osVersion has a field of the wrong type. Schema and webhook let none in; it was stored past them.
	InvalidOSVersionReason = "InvalidOSVersion"
)

// Condition types and reasons of ElementalRegistration.
const (
	// RegistrationTokenReadyCondition reports whether hosts can register.
	RegistrationTokenReadyCondition = "TokenReady"
	MissingAPIEndpointReason        = "MissingAPIEndpoint"
	SigningKeyFailedReason          = "SigningKeyFailed"
	TokenSecretNotOwnedReason       = "TokenSecretNotOwned"

	// HostTemplatesValidCondition reports whether hostLabels and hostAnnotations name known SMBIOS data.
	HostTemplatesValidCondition = "HostTemplatesValid"
	UnknownSMBIOSFieldReason    = "UnknownSMBIOSField"
)

// Condition types and reasons of ElementalHostUpgrade.
const (
	// UpgradeAdmittedCondition is True while the attempt has an upgrade slot of its Cluster, and False otherwise, with the reason of its first hold if it
	// has one.
	UpgradeAdmittedCondition = "Admitted"
	// UpgradeAdmittedReason: the attempt has its slot.
	UpgradeAdmittedReason = "Admitted"
	// UpgradePreparingReason: nothing holds the attempt, and its host is not ready for the upgrade yet.
	UpgradePreparingReason = "Preparing"
	// UpgradeNotRequiredReason: the attempt is past the disruption of its node, and has returned its slot or has not needed one.
	UpgradeNotRequiredReason = "NotRequired"
	// UpgradeEndedReason: the attempt has ended, and has no slot.
	UpgradeEndedReason = "Ended"
	// UpgradeDisruptingCondition is True from the cordon of the node until the attempt has uncordoned it, or leaves it cordoned for good. It is absent before.
	UpgradeDisruptingCondition = "Disrupting"
	UpgradeDisruptingReason    = "Disrupting"
	// UpgradeNotDisruptingReason: the attempt does nothing more to the node, which is uncordoned unless it was left cordoned for good.
	UpgradeNotDisruptingReason = "NotDisrupting"
	// UpgradeLeftToHealthChecksReason: nothing was heard of the host or its kubelet for as long as a reboot may take, and MachineHealthChecks decide on the Machine.
	UpgradeLeftToHealthChecksReason = "LeftToHealthChecks"
	// UpgradeProgressingCondition is True while the attempt has not ended; its message has the current
	// step and what it waits for.
	UpgradeProgressingCondition = "Progressing"
	// UpgradeSucceededCondition is True once the host runs the desired OS and serves again, and False,
	// with the phase as its reason, when the attempt ended otherwise.
	UpgradeSucceededCondition = "Succeeded"

	// FormerOSHealthyCondition reports, after a rollback, whether the former OS passed its assessment. While it
	// is False and the node is cordoned, no other image is tried either.
	FormerOSHealthyCondition = "FormerOSHealthy"
	FormerOSGoodReason       = "FormerOSGood"
	FormerOSNotGoodReason    = "FormerOSNotGood"
)

// withReasons omits conditions without a reason. Version 0.7 stored such conditions. A status in which one of them is repeated is
// rejected, and Cluster API's helpers write all conditions of an object whenever one changes.
func withReasons(conditions []metav1.Condition) []metav1.Condition {
	lacks := func(condition metav1.Condition) bool { return condition.Reason == "" }
	if !slices.ContainsFunc(conditions, lacks) {
		return conditions
	}
	return slices.DeleteFunc(slices.Clone(conditions), lacks)
}
