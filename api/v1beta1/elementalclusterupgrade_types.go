// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package v1beta1

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// ElementalClusterUpgradeSpec defines to which OS the nodes of a Cluster are upgraded, and in which order. Only windows, gates, gateServiceAccount, paused,
// cancel and onCancel may be changed: another OS, or another order, is another ElementalClusterUpgrade.
//
// +kubebuilder:validation:XValidation:rule="self.clusterName == oldSelf.clusterName",message="the Cluster is immutable: create another ElementalClusterUpgrade"
// +kubebuilder:validation:XValidation:rule="self.osVersion == oldSelf.osVersion",message="the OS is immutable: cancel this ElementalClusterUpgrade, and create another"
// +kubebuilder:validation:XValidation:rule="has(self.kubeVirt) == has(oldSelf.kubeVirt) && (!has(self.kubeVirt) || self.kubeVirt == oldSelf.kubeVirt)",message="kubeVirt is immutable: cancel this ElementalClusterUpgrade, and create another"
// +kubebuilder:validation:XValidation:rule="has(self.order) == has(oldSelf.order) && (!has(self.order) || self.order == oldSelf.order)",message="the order is immutable: cancel this ElementalClusterUpgrade, and create another"
// +kubebuilder:validation:XValidation:rule="!(has(oldSelf.cancel) && oldSelf.cancel) || (has(self.cancel) && self.cancel)",message="a cancelled upgrade does not go on: create another ElementalClusterUpgrade"
// +kubebuilder:validation:XValidation:rule="!has(self.gates) || self.gates.size() == 0 || has(self.gateServiceAccount)",message="gates read the workload cluster as a ServiceAccount of it: set gateServiceAccount"
type ElementalClusterUpgradeSpec struct {
	// clusterName is the Cluster, in the same namespace.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	ClusterName string `json:"clusterName"`

	// osVersion that all nodes are upgraded to. It is written to the ElementalMachineTemplates of the pools.
	// +required
	OSVersion ClusterOSVersion `json:"osVersion"`

	// order in which the pools are upgraded: a stage begins when the one before is done. Pools that no stage names are not upgraded, unless
	// they share their ElementalMachineTemplate with one that is: then they belong to the last stage of that one. Default: the control
	// plane, then each other pool, by name, or all of them in one stage where there are more than 64.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=64
	Order []PoolStage `json:"order,omitempty"`

	// kubeVirt has KubeVirt in the workload cluster upgraded before the first node. Default: it is left alone.
	// +optional
	KubeVirt *ClusterKubeVirt `json:"kubeVirt,omitempty"`

	// windows in which upgrades of nodes may start. One does not start where, by the slowest one so far, it would not be done when the window
	// closes; one that has started is finished. Templates are changed, and images fetched, at any time; the variables of a topology are set
	// within a window. Default: always.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=16
	Windows []UpgradeWindow `json:"windows,omitempty"`

	// gates are evaluated before each node, and before the upgrade succeeds. It does not continue while one is closed.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=16
	Gates []UpgradeGate `json:"gates,omitempty"`

	// gateServiceAccount is the ServiceAccount of the workload cluster by whose rights gates are evaluated. It must have annotation
	// "infrastructure.cluster.x-k8s.io/elemental-gates: allowed".
	// +optional
	GateServiceAccount *GateServiceAccount `json:"gateServiceAccount,omitempty"`

	// paused stops before the next node. A node that has its slot is finished. Default false.
	// +optional
	Paused bool `json:"paused,omitempty"`

	// cancel ends the upgrade: nodes that have their slot are finished, no other is begun. Default false.
	// +optional
	Cancel bool `json:"cancel,omitempty"`

	// onCancel is what happens to the nodes that have not been begun when the upgrade is cancelled. Deleting the ElementalClusterUpgrade is
	// cancelling it with Hold.
	// +optional
	// +default="Hold"
	OnCancel CancelPolicy `json:"onCancel,omitempty"`
}

// ClusterKubeVirt is the KubeVirt of an ElementalClusterUpgrade.
type ClusterKubeVirt struct {
	// version that KubeVirt is to have, as in "v1.8.4": that of spec.imageTag of the KubeVirt where it has one, and that of virt-operator otherwise. KubeVirt
	// supports upgrades by one minor version. Virt-operator is upgraded by a person before.
	// +required
	// +kubebuilder:validation:MaxLength=64
	// +kubebuilder:validation:Pattern=`^v[0-9]+\.[0-9]+\.[0-9]+(-[0-9A-Za-z.-]+)?$`
	Version string `json:"version"`

	// workloads is when virtual machines that run come to launchers of that version. AfterNodes: KubeVirt updates none by itself until all nodes are done, so
	// that each is migrated once, when its node is evacuated. BeforeNodes: KubeVirt updates all of them before the first node. Default AfterNodes.
	// +optional
	// +default="AfterNodes"
	Workloads KubeVirtWorkloads `json:"workloads,omitempty"`
}

// KubeVirtWorkloads is when virtual machines that run come to launchers of another version.
//
// +kubebuilder:validation:Enum=AfterNodes;BeforeNodes
type KubeVirtWorkloads string

const (
	// WorkloadsAfterNodes has KubeVirt update no virtual machine by itself until all nodes are done.
	WorkloadsAfterNodes KubeVirtWorkloads = "AfterNodes"
	// WorkloadsBeforeNodes has KubeVirt update all virtual machines before the first node.
	WorkloadsBeforeNodes KubeVirtWorkloads = "BeforeNodes"
)

// ClusterOSVersion is the OS of an ElementalClusterUpgrade.
//
// +kubebuilder:validation:XValidation:rule="has(self.imageURI) != has(self.managedOSVersionName)",message="set either imageURI or managedOSVersionName"
type ClusterOSVersion struct {
	// imageURI is the OS image, for example "oci://registry.example.com/elemental-os:v1.2.0".
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=4096
	ImageURI string `json:"imageURI,omitempty"`
	// managedOSVersionName is a ManagedOSVersion of the Elemental operator, in the same namespace, whose image is used. It is looked up once,
	// when the upgrade begins.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	ManagedOSVersionName string `json:"managedOSVersionName,omitempty"`
	// upgradeRecovery also upgrades the recovery systems of the hosts. Default: what the templates say.
	// +optional
	UpgradeRecovery *bool `json:"upgradeRecovery,omitempty"`
}

// PoolStage is a stage in the order of an upgrade.
type PoolStage struct {
	// pools by name: that of a MachineDeployment, or of the topology that made it; "control-plane"; the name of a Machine that has neither;
	// or "*" for all pools of the Cluster. Nodes that run the OS are not upgraded again.
	// +required
	// +listType=set
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=253
	Pools []string `json:"pools"`
	// nodes is how many nodes of the pools, together, run the OS when the stage is done, those included that earlier stages or others have upgraded.
	// They are the first by name, except for one that an image has left not Ready; in a topology Cluster API chooses them. Default: all.
	// +optional
	// +kubebuilder:validation:Minimum=1
	Nodes *int32 `json:"nodes,omitempty"`
	// soakSeconds is how long the next stage waits after the last node of this one. Default 0.
	// +optional
	// +kubebuilder:validation:Minimum=0
	SoakSeconds *int32 `json:"soakSeconds,omitempty"`
}

// UpgradeWindow is a time that comes again and again.
type UpgradeWindow struct {
	// schedule by which the window opens: the five fields of cron, as in "0 22 * * 1-5". In an hour that the clock skips it opens at
	// the next valid instant.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=256
	Schedule string `json:"schedule"`
	// durationSeconds for which it is open.
	// +required
	// +kubebuilder:validation:Minimum=60
	// +kubebuilder:validation:Maximum=604800
	DurationSeconds int32 `json:"durationSeconds"`
	// timeZone of the schedule, by its name in the IANA database, as in "Europe/Berlin". Default UTC.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	TimeZone string `json:"timeZone,omitempty"`
}

// CancelPolicy is what happens to the nodes that have not been begun when an upgrade is cancelled.
// +kubebuilder:validation:Enum=Hold;Revert
type CancelPolicy string

const (
	// CancelHold leaves the templates as they are. No node is begun before its template is changed, or another
	// ElementalClusterUpgrade is created.
	CancelHold CancelPolicy = "Hold"
	// CancelRevert gives the templates the OS that they had before. Nodes that have been upgraded are upgraded back.
	CancelRevert CancelPolicy = "Revert"
)

// ClusterUpgradePhase is the state of an ElementalClusterUpgrade.
// +kubebuilder:validation:Enum=Pending;Progressing;Failed;Cancelling;Succeeded;Cancelled;Superseded
type ClusterUpgradePhase string

// Phases of an ElementalClusterUpgrade. The last three are ends.
const (
	ClusterUpgradePending     ClusterUpgradePhase = "Pending"
	ClusterUpgradeProgressing ClusterUpgradePhase = "Progressing"
	// ClusterUpgradeFailed: a node was not upgraded, and no other is begun. It goes on when that node's ElementalHostUpgrade is
	// deleted or succeeds; or another ElementalClusterUpgrade takes its place.
	ClusterUpgradeFailed ClusterUpgradePhase = "Failed"
	// ClusterUpgradeCancelling: it was cancelled, and nodes are being finished.
	ClusterUpgradeCancelling ClusterUpgradePhase = "Cancelling"
	ClusterUpgradeSucceeded  ClusterUpgradePhase = "Succeeded"
	ClusterUpgradeCancelled  ClusterUpgradePhase = "Cancelled"
	// ClusterUpgradeSuperseded: it had failed, and another was created.
	ClusterUpgradeSuperseded ClusterUpgradePhase = "Superseded"
)

// IsEnd reports whether nothing follows a phase.
func (p ClusterUpgradePhase) IsEnd() bool {
	return slices.Contains([]ClusterUpgradePhase{ClusterUpgradeSucceeded, ClusterUpgradeCancelled, ClusterUpgradeSuperseded}, p)
}

// ElementalClusterUpgradeStatus is the observed state of an upgrade.
type ElementalClusterUpgradeStatus struct {
	// conditions of the upgrade: Progressing, Succeeded, Paused.
	// +optional
	// +listType=map
	// +listMapKey=type
	// +kubebuilder:validation:MaxItems=32
	Conditions []metav1.Condition `json:"conditions,omitempty"`

	// phase of the upgrade.
	// +optional
	Phase ClusterUpgradePhase `json:"phase,omitempty"`

	// stage that the upgrade is at, and its position, as in "workers-a (3/4)". Empty once it has ended.
	// +optional
	Stage string `json:"stage,omitempty"`

	// imageURI of the OS: that of osVersion, or of its ManagedOSVersion.
	// +optional
	ImageURI string `json:"imageURI,omitempty"`

	// digest that the image was resolved to by the first host. All nodes get this one.
	// +optional
	Digest string `json:"digest,omitempty"`

	// nodes that the upgrade is for.
	// +optional
	Nodes *int32 `json:"nodes,omitempty"`

	// nodesDone of them run the OS, and are not being upgraded.
	// +optional
	NodesDone *int32 `json:"nodesDone,omitempty"`

	// message says what the upgrade waits for and who has to act, or how it ended.
	// +optional
	Message string `json:"message,omitempty"`

	// nextWindow is when the next of spec.windows opens; absent while one is open.
	// +optional
	NextWindow *metav1.Time `json:"nextWindow,omitempty"`

	// estimatedCompletionTime is when the last node will be done, by how long its nodes took in this upgrade, or the last time before the
	// first of them is done, and the soaks that are left; windows that close meanwhile do not count. It is absent while no node has ever been upgraded, while
	// the upgrade is paused, has failed or waits for a window, and once it has passed.
	// +optional
	EstimatedCompletionTime *metav1.Time `json:"estimatedCompletionTime,omitempty"`

	// stages of the upgrade, in their order.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=128
	Stages []ClusterUpgradeStage `json:"stages,omitempty"`

	// gates of the upgrade, as they were when they were last evaluated.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=16
	Gates []ClusterUpgradeGate `json:"gates,omitempty"`

	// startTime is when the upgrade was first acted on.
	// +optional
	StartTime *metav1.Time `json:"startTime,omitempty"`

	// completionTime is when it ended.
	// +optional
	CompletionTime *metav1.Time `json:"completionTime,omitempty"`
}

// ClusterUpgradeStage is the state of a stage.
type ClusterUpgradeStage struct {
	// name of the stage: Preflight, Prefetch, KubeVirt, the pools of a stage of the order, Workloads, or Cleanup.
	// +required
	Name string `json:"name"`
	// nodes that the stage is for.
	// +optional
	Nodes int32 `json:"nodes,omitempty"`
	// nodesDone of them run the OS, and are not being upgraded; in stage Prefetch, have its image.
	// +optional
	NodesDone int32 `json:"nodesDone,omitempty"`
	// startTime is when the stage began.
	// +optional
	StartTime *metav1.Time `json:"startTime,omitempty"`
	// completionTime is when it was done. The next stage begins soakSeconds later.
	// +optional
	CompletionTime *metav1.Time `json:"completionTime,omitempty"`
	// message names nodes that the stage was done without, and why.
	// +optional
	Message string `json:"message,omitempty"`
}

// ElementalClusterUpgrade upgrades the nodes of a Cluster in an order. It changes the ElementalMachineTemplates of the pools, and decides which node
// may start; all else is what happens when a user changes them.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:path=elementalclusterupgrades,scope=Namespaced,categories=cluster-api,shortName=ecu
// +kubebuilder:metadata:labels="cluster.x-k8s.io/v1beta2=v1beta1"
// +kubebuilder:subresource:status
// +kubebuilder:selectablefield:JSONPath=".spec.clusterName"
// +kubebuilder:printcolumn:name="Cluster",type="string",JSONPath=".spec.clusterName",description="Cluster that is upgraded"
// +kubebuilder:printcolumn:name="Phase",type="string",JSONPath=".status.phase",description="State of the upgrade"
// +kubebuilder:printcolumn:name="Stage",type="string",JSONPath=".status.stage",description="Stage, and its position"
// +kubebuilder:printcolumn:name="Done",type="integer",JSONPath=".status.nodesDone",description="Nodes that run the OS"
// +kubebuilder:printcolumn:name="Nodes",type="integer",JSONPath=".status.nodes",description="Nodes that the upgrade is for"
// +kubebuilder:printcolumn:name="ETA",type="string",JSONPath=".status.estimatedCompletionTime",description="When the last node will be done, as far as is known"
// +kubebuilder:printcolumn:name="Age",type="date",JSONPath=".metadata.creationTimestamp"
// +kubebuilder:printcolumn:name="Message",type="string",JSONPath=".status.message",description="What the upgrade waits for, or how it ended"
type ElementalClusterUpgrade struct {
	metav1.TypeMeta `json:",inline"`

	// metadata of the object.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec is the desired state.
	// +required
	Spec ElementalClusterUpgradeSpec `json:"spec"`

	// status is the observed state.
	// +optional
	Status ElementalClusterUpgradeStatus `json:"status,omitempty,omitzero"`
}

// GetConditions returns the conditions of the object, for Cluster API's condition helpers.
func (u *ElementalClusterUpgrade) GetConditions() []metav1.Condition { return u.Status.Conditions }

// SetConditions replaces the conditions of the object.
func (u *ElementalClusterUpgrade) SetConditions(conditions []metav1.Condition) {
	u.Status.Conditions = conditions
}

// PhaseNow is the phase in which the upgrade ended, which its annotation keeps when "clusterctl move" drops the status; that of the status otherwise.
func (u *ElementalClusterUpgrade) PhaseNow() ClusterUpgradePhase {
	if ended := ClusterUpgradePhase(u.Annotations[EndedAnnotation]); ended.IsEnd() {
		return ended
	}
	return u.Status.Phase
}

// ElementalClusterUpgradeList is a list of ElementalClusterUpgrade.
//
// +kubebuilder:object:root=true
type ElementalClusterUpgradeList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []ElementalClusterUpgrade `json:"items"`
}
