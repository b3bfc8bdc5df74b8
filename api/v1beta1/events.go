// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package v1beta1

// Reasons of the events that the provider emits.
const (
	// EventHostAssociated (ElementalMachine): a host was found for the machine.
	EventHostAssociated = "HostAssociated"
	// EventHostOSReplaced (ElementalHost): the host was to run an OS of its own, and now serves a machine that specifies another.
	EventHostOSReplaced = "HostOSReplaced"
	// EventHostReleased (ElementalHost): the host's machine is gone and the host resets itself.
	EventHostReleased = "HostReleased"
	// EventHostRegistered (ElementalHost): a new host registered.
	EventHostRegistered = "HostRegistered"
	// EventIdentityInUseTwice (ElementalHost): two machines report with the key of one host.
	EventIdentityInUseTwice = "IdentityInUseTwice"
	// EventBootstrapHandedOut (ElementalHost): the host received the bootstrap data of its Machine. The message has the address and
	// the key of the caller, as do those of the next three.
	EventBootstrapHandedOut = "BootstrapHandedOut"
	// EventHostNameTaken (ElementalHost): a caller with another key tried to register under the host's name.
	EventHostNameTaken = "HostNameTaken"
	// EventHostLeaves (ElementalHost): the host has begun to reset itself and requested its deletion.
	EventHostLeaves = "HostLeaves"
	// EventBootstrapWithheld (ElementalHost): the host requested bootstrap data that are not those of a Machine it serves.
	EventBootstrapWithheld = "BootstrapWithheld"
	// EventHostKeyDenied (ElementalHost): the host was deleted, and its key is denied until an operator allows it again. The
	// message reports whether the host still has to reset itself.
	EventHostKeyDenied = "HostKeyDenied"
	// EventUnmanagedUpgradeStarted (ElementalHost): a user triggered an upgrade and the host has begun.
	EventUnmanagedUpgradeStarted = "UnmanagedUpgradeStarted"
	// EventUnmanagedUpgradeEnded (ElementalHost): it ended; the message says how.
	EventUnmanagedUpgradeEnded = "UnmanagedUpgradeEnded"

	// EventEvacuationEnded (Machine): its deletion does not wait any more for the virtual machines of its Node.
	EventEvacuationEnded = "EvacuationEnded"

	// EventOSDrifted (ElementalMachine): the host runs an OS other than the one it was upgraded to.
	EventOSDrifted = "OSDrifted"
	// EventOSDriftEnded (ElementalMachine): the host runs the right OS again, or is being upgraded to it.
	EventOSDriftEnded = "OSDriftEnded"

	// EventUpdateMarkRestored (ElementalMachine): the mark of an update in place was lost, and restored.
	EventUpdateMarkRestored = "UpdateMarkRestored"

	// EventUpgradesRequested (ElementalMachineTemplate): the ElementalHostUpgrades of Machines were created.
	EventUpgradesRequested = "UpgradesRequested"
	// EventRancherDrainHeld (Machine, Cluster): Rancher waits with the Node cordoned, and the upgrade of its host until a user or the host acts.
	EventRancherDrainHeld = "RancherDrainHeld"
	// EventRolloutBlocked (ElementalMachineTemplate): a patched template cannot be rolled out.
	EventRolloutBlocked = "RolloutBlocked"
	// EventRolloutHeld (ElementalMachineTemplate): the OS does not get to all Machines until a user ends what the message says.
	EventRolloutHeld = "RolloutHeld"
	// EventInPlaceRefused (ElementalMachineTemplate, ElementalMachine): a change cannot be made in place.
	EventInPlaceRefused = "InPlaceUpdateRefused"

	// EventUpgradeStep (ElementalHostUpgrade): a step began at which not every attempt waits, or a check blocks.
	EventUpgradeStep = "UpgradeStep"
	// EventUpgradeEnded (ElementalHostUpgrade): the attempt ended; the message says how.
	EventUpgradeEnded = "UpgradeEnded"
	// EventPreflightWaived (ElementalHostUpgrade): a preflight check that blocks was waived.
	EventPreflightWaived = "PreflightWaived"
	// EventDigestQuarantined (ElementalCluster): a host rolled back from an image, which is not offered to other hosts any more.
	EventDigestQuarantined = "DigestQuarantined"
	// EventUnknownPauseNodes (ElementalCluster): strategy.pauseNodes contains a name that is not a node.
	EventUnknownPauseNodes = "UnknownPauseNodes"
	// EventQuarantineLifted (ElementalCluster): a host succeeded with an image that was quarantined.
	EventQuarantineLifted = "QuarantineLifted"

	// EventTemplateChanged (ElementalClusterUpgrade): it gave an ElementalMachineTemplate its OS.
	EventTemplateChanged = "TemplateChanged"
	// EventClusterUpgradeFailed (ElementalClusterUpgrade): a node was not upgraded, and no other is begun.
	EventClusterUpgradeFailed = "ClusterUpgradeFailed"
	// EventClusterUpgradeEnded (ElementalClusterUpgrade): it ended; the message says how.
	EventClusterUpgradeEnded = "ClusterUpgradeEnded"
)
