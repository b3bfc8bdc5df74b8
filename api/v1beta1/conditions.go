// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package v1beta1

// Condition types and reasons of ElementalCluster.
const (
	// CAPIClusterReadyCondition says whether the ElementalCluster has an owning Cluster.
	CAPIClusterReadyCondition = "CAPIClusterReady"
	MissingClusterOwnerReason = "MissingClusterOwner"

	// ControlPlaneEndpointReadyCondition says whether spec.controlPlaneEndpoint is set.
	ControlPlaneEndpointReadyCondition = "ControlPlaneEndpointReady"
	MissingControlPlaneEndpointReason  = "MissingControlPlaneEndpoint"

	// KubeconfigUsableCondition says whether the kubeconfig of the Cluster is one that the manager uses. It is there once the
	// Secret CLUSTER-kubeconfig is.
	KubeconfigUsableCondition = "KubeconfigUsable"
	KubeconfigRefusedReason   = "KubeconfigRefused"

	// NodesUpToDateCondition says whether all nodes run the OS that their owners want. Its message is the
	// status line of the cluster.
	NodesUpToDateCondition = "NodesUpToDate"
	NodesUpToDateReason    = "NodesUpToDate"
	NodesUpgradingReason   = "NodesUpgrading"
	NodesHeldReason        = "NodesHeld"
	NodesDriftedReason     = "NodesDrifted"
	NodesWaitingReason     = "NodesWaiting"
	NoNodesReason          = "NoNodes"

	// PauseNodesKnownCondition says whether all names of strategy.pauseNodes are nodes of the cluster. It is there while
	// the strategy is manual, or was so for a rollout that runs.
	PauseNodesKnownCondition = "PauseNodesKnown"
	UnknownNodesReason       = "UnknownNodes"
)

// Condition types and reasons of ElementalMachine.
const (
	// AssociationReadyCondition says whether an ElementalHost serves the ElementalMachine.
	AssociationReadyCondition               = "AssociationReady"
	MissingMachineOwnerReason               = "MissingMachineOwner"
	MissingAssociatedClusterReason          = "MissingAssociatedCluster"
	MissingClusterInfrastructureReadyReason = "MissingClusterInfrastructureReady"
	MissingBootstrapSecretReason            = "MissingBootstrapSecret"
	MissingAvailableHostsReason             = "MissingAvailableHosts"
	AssociatedHostNotFoundReason            = "AssociatedHostNotFound"
	AssociatedHostReplacedReason            = "AssociatedHostReplaced"
	InvalidSelectorReason                   = "InvalidSelector"

	// HostReadyCondition says whether the associated host has been bootstrapped.
	HostReadyCondition            = "HostReady"
	HostWaitingForInstallReason   = "HostWaitingForInstall"
	HostWaitingForOSReason        = "HostWaitingForOS"
	HostWaitingForBootstrapReason = "HostWaitingForBootstrap"

	// ProviderIDReadyCondition says whether the Node carries the provider ID of the ElementalMachine.
	ProviderIDReadyCondition                = "ProviderIDReady"
	NodeNotFoundReason                      = "NodeNotFound"
	NodeProviderIDMismatchReason            = "NodeProviderIDMismatch"
	NodeBootIDMismatchReason                = "NodeBootIDMismatch"
	WaitingForControlPlaneInitializedReason = "WaitingForControlPlaneInitialized"
	WorkloadClusterUnreachableReason        = "WorkloadClusterUnreachable"

	// UpToDateCondition says whether the ElementalMachine's OS is the one its template asks for, and
	// its host runs it. It compares contents, where CAPI's condition of that name compares names.
	UpToDateCondition       = "UpToDate"
	TemplateDiffersReason   = "TemplateDiffers"
	HostRunsOtherOSReason   = "HostRunsOtherOS"
	UpgradeInProgressReason = "UpgradeInProgress"
	WaitingForNodeReason    = "WaitingForNode"
	OSNotManagedReason      = "OSNotManaged"
	HostOSUnknownReason     = "HostOSUnknown"

	// OSDriftedCondition is True while the host runs another OS than the ElementalMachine asks for outside
	// of any attempt, as after a fallback weeks later.
	OSDriftedCondition        = "OSDrifted"
	HostFellBackReason        = "HostFellBack"
	NotDriftedReason          = "NotDrifted"
	AttemptNotSucceededReason = "AttemptNotSucceeded"
	HostNotBootstrappedReason = "HostNotBootstrapped"

	// DeletingCondition says what the deletion of the object waits for.
	DeletingCondition        = "Deleting"
	WaitingForHostIdleReason = "WaitingForHostIdle"

	// EvacuatingCondition is on the ElementalMachine while the deletion of its Machine waits for the virtual machines of
	// its Node; it says for which.
	EvacuatingCondition             = "Evacuating"
	EvacuatingVirtualMachinesReason = "EvacuatingVirtualMachines"
	EvacuationHeldReason            = "EvacuationHeld"
)

// Condition types and reasons of ElementalHost.
const (
	// ApprovedCondition says whether an operator, or the registration's policy, vouches for the host.
	ApprovedCondition        = "Approved"
	WaitingForApprovalReason = "WaitingForApproval"

	// IdentityInUseTwiceCondition is True while boots alternate in what is reported under one key: two machines have it. It is
	// absent otherwise.
	IdentityInUseTwiceCondition = "IdentityInUseTwice"
	BootIDsAlternateReason      = "BootIDsAlternate"

	// WorkDirVolatileCondition is True while the host would forget with a reboot who it is and what it was doing. It is absent
	// otherwise.
	WorkDirVolatileCondition = "WorkDirVolatile"
	LostWithRebootReason     = "LostWithReboot"

	// RegistrationReadyCondition says whether the host has registered.
	RegistrationReadyCondition = "RegistrationReady"
	RegistrationFailedReason   = "RegistrationFailed"

	// InstallationReadyCondition says whether the host has an installed OS.
	InstallationReadyCondition   = "InstallationReady"
	WaitingForInstallationReason = "WaitingForInstallation"
	InstallationFailedReason     = "InstallationFailed"

	// BootstrapReadyCondition says whether the host has applied its bootstrap data.
	BootstrapReadyCondition   = "BootstrapReady"
	WaitingForBootstrapReason = "WaitingForBootstrap"
	BootstrapFailedReason     = "BootstrapFailed"

	// ResetReadyCondition says whether a requested reset has been carried out.
	ResetReadyCondition   = "ResetReady"
	WaitingForResetReason = "WaitingForReset"
	ResetFailedReason     = "ResetFailed"
	NodeNotDeletedReason  = "NodeNotDeleted"
	DeniedKeysFullReason  = "DeniedKeysFull"
	ServesNoMachineReason = "ServesNoMachine"

	// OSVersionReadyCondition says whether the host runs the OS that its spec asks for.
	OSVersionReadyCondition             = "OSVersionReady"
	WaitingForOSReconcileReason         = "WaitingForOSReconcile"
	InPlaceUpdateNotPendingReason       = "InPlaceUpdateNotPending"
	OSVersionReconciliationFailedReason = "OSVersionReconciliationFailed"
	WaitingForPostReconcileRebootReason = "WaitingForPostReconcileReboot"
	RolledBackReason                    = "RolledBack"
	UnmanagedReason                     = "Unmanaged"
)

// Condition types and reasons of ElementalMachineTemplate.
const (
	// RolloutBlockedCondition is True while a patched template cannot be rolled out in place.
	RolloutBlockedCondition       = "RolloutBlocked"
	FeatureGatesOffReason         = "FeatureGatesOff"
	FeatureGatesUnknownReason     = "FeatureGatesUnknown"
	ExtensionNotReadyReason       = "ExtensionNotReady"
	ExtensionNotMatchingReason    = "ExtensionNotMatching"
	CompetingExtensionReason      = "CompetingExtension"
	UnsupportedStrategyReason     = "UnsupportedStrategy"
	UnsupportedControlPlaneReason = "UnsupportedControlPlane"
	// UpdateRefusedReason: the API server refuses, in a dry run, what KubeadmControlPlane would write.
	UpdateRefusedReason = "UpdateRefused"
	CloneChangedReason  = "CloneChanged"
	NotBlockedReason    = "NotBlocked"

	// RolledOutCondition says whether all owners refer to the template's content.
	RolledOutCondition         = "RolledOut"
	WaitingForQuietPointReason = "WaitingForQuietPoint"
	RolledOutReason            = "RolledOut"
	WaitingForClusterReason    = "WaitingForCluster"
	ManagedByTopologyReason    = "ManagedByTopology"
	BlockedReason              = "Blocked"
	// PreflightBlockedReason: something that a preflight check found stands against the start of the rollout.
	PreflightBlockedReason = "PreflightBlocked"

	// ReferenceRevertedCondition is True while an owner was reverted to the template itself by
	// somebody after it had been pointed to a clone.
	ReferenceRevertedCondition = "ReferenceReverted"
	RevertedByOtherReason      = "RevertedByOther"
	NotRevertedReason          = "NotReverted"
)

// OSVersionResolvedCondition of an ElementalMachineTemplate says whether its managedOSVersionName was looked
// up to an image. The reasons are those of AssociationReady and UpToDate of an ElementalMachine, and of
// OSVersionReady of an ElementalHost, as well.
const (
	OSVersionResolvedCondition          = "OSVersionResolved"
	ManagedOSVersionsNotInstalledReason = "ManagedOSVersionsNotInstalled"
	ManagedOSVersionNotFoundReason      = "ManagedOSVersionNotFound"
	ManagedOSVersionNotContainerReason  = "ManagedOSVersionNotContainer"
	ManagedOSVersionWithoutImageReason  = "ManagedOSVersionWithoutImage"
	WaitingForOSVersionReason           = "WaitingForOSVersion"
)

// Condition types and reasons of ElementalRegistration.
const (
	// RegistrationTokenReadyCondition says whether hosts can register.
	RegistrationTokenReadyCondition = "TokenReady"
	MissingAPIEndpointReason        = "MissingAPIEndpoint"
	SigningKeyFailedReason          = "SigningKeyFailed"

	// HostTemplatesValidCondition says whether hostLabels and hostAnnotations name known SMBIOS data.
	HostTemplatesValidCondition = "HostTemplatesValid"
	UnknownSMBIOSFieldReason    = "UnknownSMBIOSField"
)

// Condition types and reasons of ElementalHostUpgrade.
const (
	// UpgradeProgressingCondition is True while the attempt has steps left to do; its message is the
	// step and what it waits for.
	UpgradeProgressingCondition = "Progressing"
	// UpgradeSucceededCondition is True once the host runs the wanted OS and serves again, and False,
	// with the end as its reason, when the attempt ended otherwise.
	UpgradeSucceededCondition = "Succeeded"

	// FormerOSHealthyCondition says, after a roll-back, whether the host found its former OS good. While it
	// is False and the node is cordoned, not even another image is tried.
	FormerOSHealthyCondition = "FormerOSHealthy"
	FormerOSGoodReason       = "FormerOSGood"
	FormerOSNotGoodReason    = "FormerOSNotGood"
)
