// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package v1beta1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// HoldReason is why an upgrade does not continue.
// +kubebuilder:validation:MaxLength=64
type HoldReason string

// Reasons why an ElementalHostUpgrade does not continue.
const (
	// HoldClusterPaused: spec.paused of the Cluster is true.
	HoldClusterPaused HoldReason = "ClusterPaused"
	// HoldAttemptPaused: the ElementalHostUpgrade has Cluster API's paused annotation.
	HoldAttemptPaused HoldReason = "AttemptPaused"
	// HoldNodePaused: the Node has the pause label, and its upgrade is not approved.
	HoldNodePaused HoldReason = "NodePaused"
	// HoldBrokenReferences: the Cluster, Machine, ElementalMachine and host that the attempt names are not one node of one cluster.
	HoldBrokenReferences HoldReason = "BrokenReferences"
	// HoldDesiredOSUnknown: it is not known which OS the owner of the Machine wants.
	HoldDesiredOSUnknown HoldReason = "DesiredOSUnknown"
	// HoldOwnerUnreadable: it cannot be read which OS the owner of the Machine wants.
	HoldOwnerUnreadable HoldReason = "OwnerUnreadable"
	// HoldNoLongerDesired: the attempt is about to end, because another OS is wanted, or a user has cancelled it.
	HoldNoLongerDesired HoldReason = "NoLongerDesired"
	// HoldPreflightFailed: a preflight check blocks.
	HoldPreflightFailed HoldReason = "PreflightFailed"
	// HoldImageQuarantined: a host rolled back from the image, or a user has added it to a quarantine.
	HoldImageQuarantined HoldReason = "ImageQuarantined"
	// HoldTrustedRootMissing: what the image's signature is verified with does not exist, or is not valid.
	HoldTrustedRootMissing HoldReason = "TrustedRootMissing"
	// HoldHostNotReporting: the host has not answered the request for the upgrade.
	HoldHostNotReporting HoldReason = "HostNotReporting"
	// HoldImageNotResolved: the registry of the image does not answer the host, which tries again.
	HoldImageNotResolved HoldReason = "ImageNotResolved"
	// HoldImageNotFetched: the host cannot fetch the image that it has resolved, for want of space or since its registry does not answer any more, and tries again.
	HoldImageNotFetched HoldReason = "ImageNotFetched"
	// HoldClusterUnreachable: the API server of the workload cluster does not answer.
	HoldClusterUnreachable HoldReason = "ClusterUnreachable"
	// HoldNodeMissing: the Node of the Machine does not exist.
	HoldNodeMissing HoldReason = "NodeMissing"
	// HoldNamespaceNotOptedIn: the namespace does not allow upgrades in place.
	HoldNamespaceNotOptedIn HoldReason = "NamespaceNotOptedIn"
	// HoldOwnerRollingOut: the owner of the Machine may replace it now, or before its node serves again.
	HoldOwnerRollingOut HoldReason = "OwnerRollingOut"
	// HoldTemplatePaused: the ElementalMachineTemplate of the rollout is paused.
	HoldTemplatePaused HoldReason = "TemplatePaused"
	// HoldOwnerPaused: the MachineDeployment, MachineSet or control plane of the Machine is paused.
	HoldOwnerPaused HoldReason = "OwnerPaused"
	// HoldUpgradeReplaced: another ElementalClusterUpgrade of the Cluster takes the place of the attempt's.
	HoldUpgradeReplaced HoldReason = "UpgradeReplaced"
	// HoldUpgradeCancelled: the ElementalClusterUpgrade was cancelled before the node had its turn.
	HoldUpgradeCancelled HoldReason = "UpgradeCancelled"
	// HoldUpgradePaused: the ElementalClusterUpgrade is paused.
	HoldUpgradePaused HoldReason = "UpgradePaused"
	// HoldRolloutStopped: another node of the ElementalRollout, or of the ElementalClusterUpgrade, was not upgraded.
	HoldRolloutStopped HoldReason = "RolloutStopped"
	// HoldStageNotReady: a stage of the ElementalClusterUpgrade before those of nodes is not done: Preflight, Prefetch, KubeVirt or Workloads.
	HoldStageNotReady HoldReason = "StageNotReady"
	// HoldOutcomePending: it is not recorded yet how another node's upgrade ended.
	HoldOutcomePending HoldReason = "OutcomePending"
	// HoldNotInStage: the node belongs to a later stage of the ElementalClusterUpgrade.
	HoldNotInStage HoldReason = "NotInStage"
	// HoldStageFull: as many nodes as the stage of the ElementalClusterUpgrade allows have started, or have been upgraded.
	HoldStageFull HoldReason = "StageFull"
	// HoldSoaking: a stage of the ElementalClusterUpgrade is done, and its soak is not over.
	HoldSoaking HoldReason = "Soaking"
	// HoldWindowClosed: no maintenance window of the ElementalClusterUpgrade is open.
	HoldWindowClosed HoldReason = "WindowClosed"
	// HoldNoWindowFits: no maintenance window of the ElementalClusterUpgrade is valid and long enough.
	HoldNoWindowFits HoldReason = "NoWindowFits"
	// HoldGateClosed: a gate of the ElementalClusterUpgrade is closed.
	HoldGateClosed HoldReason = "GateClosed"
	// HoldRancherNotDraining: Rancher does not drain the Node, or asks no hook that lets its host be upgraded.
	HoldRancherNotDraining HoldReason = "RancherNotDraining"
	// HoldRancherNotDone: Rancher drains the Node, upgrades Kubernetes on it, or has not uncordoned it.
	HoldRancherNotDone HoldReason = "RancherNotDone"
	// HoldNoSlot: as many nodes of the Cluster as may be disrupted at a time are.
	HoldNoSlot HoldReason = "NoSlot"
	// HoldControlPlaneBusy: another control plane node of the Cluster is upgraded.
	HoldControlPlaneBusy HoldReason = "ControlPlaneBusy"
	// HoldEvacuationBusy: virtual machines leave another node of the Cluster.
	HoldEvacuationBusy HoldReason = "EvacuationBusy"
	// HoldNotInTurn: nodes before this one are upgraded first: control planes, and then those whose names come before.
	HoldNotInTurn HoldReason = "NotInTurn"
	// HoldPrefetchBusy: as many hosts of the Cluster as may fetch an image at a time do, or none has resolved the image of the rollout yet and one tries.
	HoldPrefetchBusy HoldReason = "PrefetchBusy"
	// HoldHostLost: the host has not come back within the time-out.
	HoldHostLost HoldReason = "HostLost"
	// HoldStepOverdue: a step takes longer than its time-out, which does not end it.
	HoldStepOverdue HoldReason = "StepOverdue"
	// HoldRequestRefused: an API server refuses a request of the attempt.
	HoldRequestRefused HoldReason = "RequestRefused"
)

// HoldActor is who can end a hold.
// +kubebuilder:validation:Enum=User;Host;Cluster;Time
type HoldActor string

// Actors that can end a hold.
const (
	// HoldByUser: a user has to change something; the message says what.
	HoldByUser HoldActor = "User"
	// HoldByHost: the host has to report.
	HoldByHost HoldActor = "Host"
	// HoldByCluster: another controller, or another node of the cluster, has to finish.
	HoldByCluster HoldActor = "Cluster"
	// HoldByTime: it ends at a time.
	HoldByTime HoldActor = "Time"
)

// holdActors has every reason. Its order is not significant.
var holdActors = map[HoldReason]HoldActor{
	HoldClusterPaused: HoldByUser, HoldAttemptPaused: HoldByUser, HoldNodePaused: HoldByUser,
	HoldBrokenReferences: HoldByUser, HoldDesiredOSUnknown: HoldByUser, HoldOwnerUnreadable: HoldByCluster, HoldNoLongerDesired: HoldByCluster,
	HoldPreflightFailed: HoldByUser, HoldImageQuarantined: HoldByUser, HoldTrustedRootMissing: HoldByUser,
	HoldHostNotReporting: HoldByHost, HoldHostLost: HoldByHost, HoldImageNotFetched: HoldByUser, HoldImageNotResolved: HoldByUser,
	HoldClusterUnreachable: HoldByCluster, HoldNodeMissing: HoldByCluster, HoldRequestRefused: HoldByUser, HoldStepOverdue: HoldByUser,
	HoldNamespaceNotOptedIn: HoldByUser, HoldOwnerRollingOut: HoldByCluster, HoldTemplatePaused: HoldByUser, HoldOwnerPaused: HoldByUser,
	HoldUpgradeReplaced: HoldByCluster, HoldUpgradeCancelled: HoldByUser, HoldUpgradePaused: HoldByUser, HoldRolloutStopped: HoldByUser,
	HoldStageNotReady: HoldByCluster, HoldOutcomePending: HoldByCluster, HoldNotInStage: HoldByCluster, HoldStageFull: HoldByCluster, HoldSoaking: HoldByTime, HoldWindowClosed: HoldByTime, HoldNoWindowFits: HoldByUser, HoldGateClosed: HoldByCluster,
	HoldRancherNotDraining: HoldByCluster, HoldRancherNotDone: HoldByCluster,
	HoldNoSlot: HoldByCluster, HoldControlPlaneBusy: HoldByCluster, HoldEvacuationBusy: HoldByCluster,
	HoldNotInTurn: HoldByCluster, HoldPrefetchBusy: HoldByCluster,
}

// HoldReasons returns every reason, in no order.
func HoldReasons() []HoldReason {
	reasons := make([]HoldReason, 0, len(holdActors))
	for reason := range holdActors {
		reasons = append(reasons, reason)
	}
	return reasons
}

// Who can end a hold with this reason. Default HoldByUser, for a reason that this version does not know.
func (r HoldReason) Who() HoldActor {
	if actor, known := holdActors[r]; known {
		return actor
	}
	return HoldByUser
}

// NewHold returns a hold that was just found. Since is left to what records it.
func NewHold(reason HoldReason, object, message string) *UpgradeHold {
	return &UpgradeHold{Reason: reason, Object: object, Message: message, Who: reason.Who()}
}

// UpgradeHold is one reason why an upgrade does not continue.
type UpgradeHold struct {
	// reason of the hold, for example "NoSlot".
	// +required
	Reason HoldReason `json:"reason"`
	// object that causes the hold, as "Kind/name". Empty where the reason says it all. A longer text is cut.
	// +optional
	// +kubebuilder:validation:MaxLength=512
	Object string `json:"object,omitempty"`
	// check is the preflight check that blocks, where reason is PreflightFailed or ImageQuarantined.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	Check string `json:"check,omitempty"`
	// message says what is waited for, and what a user can do.
	// +optional
	Message string `json:"message,omitempty"`
	// since is when the controller first found the hold, with this reason, object and check, without interruption.
	// +required
	Since metav1.Time `json:"since"`
	// who can end the hold: User, Host, Cluster or Time.
	// +required
	Who HoldActor `json:"who"`
}
