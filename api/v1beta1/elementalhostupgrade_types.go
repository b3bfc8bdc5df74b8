// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package v1beta1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// UpgradeDriver is what starts the upgrade of a host.
type UpgradeDriver string

// Upgrade drivers.
const (
	// DriverClusterAPI: Cluster API updates the Machine in place, because its owner refers to another template.
	DriverClusterAPI UpgradeDriver = "ClusterAPI"
	// DriverDirect: the ElementalMachineTemplate of the Machine was patched. The owner of the Machine and its reference stay as they are.
	DriverDirect UpgradeDriver = "Direct"
	// DriverRancherDrain: the same, in Rancher's drain of the Node. The attempt waits at Admit for the pre-drain hook, and the post-drain hook waits for its end.
	DriverRancherDrain UpgradeDriver = "RancherDrain"
)

// ElementalHostUpgradeSpec defines which host is upgraded to which OS. Users may change approved, cancel, release and
// skipPreflight; all other fields are immutable: by the rules below and, for osVersionManagement, which may have keys without a schema, by the
// ValidatingAdmissionPolicy in config/policy.
//
// +kubebuilder:validation:XValidation:rule="self.clusterName == oldSelf.clusterName && self.machineName == oldSelf.machineName && self.elementalMachineName == oldSelf.elementalMachineName && self.hostName == oldSelf.hostName && self.imageURI == oldSelf.imageURI",message="the attempt's machine, host and image are immutable: delete the ElementalHostUpgrade to try again"
// +kubebuilder:validation:XValidation:rule="has(self.templateName) == has(oldSelf.templateName) && (!has(self.templateName) || self.templateName == oldSelf.templateName)",message="the attempt's template is immutable: patch the template itself, which starts a new attempt"
// +kubebuilder:validation:XValidation:rule="has(self.rolloutName) == has(oldSelf.rolloutName) && (!has(self.rolloutName) || self.rolloutName == oldSelf.rolloutName)",message="the attempt's rollout is immutable: patch the template itself, which starts a new attempt"
// +kubebuilder:validation:XValidation:rule="has(self.options) == has(oldSelf.options) && (!has(self.options) || self.options == oldSelf.options)",message="the attempt's options are immutable: change the Cluster's, which hold for the next rollout"
// +kubebuilder:validation:XValidation:rule="self.driver == oldSelf.driver",message="the attempt's driver is immutable: it records what started the attempt"
type ElementalHostUpgradeSpec struct {
	// clusterName is the Cluster of the machine.
	// +required
	// +kubebuilder:validation:MinLength=1
	ClusterName string `json:"clusterName"`

	// driver is what created the attempt: ClusterAPI, by its hook UpdateMachine; Direct, the controller of
	// ElementalMachineTemplates; or RancherDrain, that controller for a Node of a Cluster that Rancher has provisioned. Default ClusterAPI.
	// +optional
	// +default="ClusterAPI"
	// +kubebuilder:validation:Enum=ClusterAPI;Direct;RancherDrain
	Driver UpgradeDriver `json:"driver,omitempty"`

	// machineName is the Machine of the host.
	// +required
	// +kubebuilder:validation:MinLength=1
	MachineName string `json:"machineName"`

	// elementalMachineName is the Machine's ElementalMachine.
	// +required
	// +kubebuilder:validation:MinLength=1
	ElementalMachineName string `json:"elementalMachineName"`

	// hostName is the ElementalHost that is upgraded.
	// +required
	// +kubebuilder:validation:MinLength=1
	HostName string `json:"hostName"`

	// templateName is the ElementalMachineTemplate that specifies the desired OS.
	// +optional
	TemplateName string `json:"templateName,omitempty"`

	// rolloutName is the ElementalRollout that the attempt belongs to. Empty: the attempt is a rollout of its own.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	RolloutName string `json:"rolloutName,omitempty"`

	// imageURI of the desired OS, for users. An attempt fails if it differs from osVersionManagement.
	// +required
	// +kubebuilder:validation:MinLength=1
	ImageURI string `json:"imageURI"`

	// osVersionManagement is the desired OS. It is sent to the host, and compared with what the Machine's owner wants.
	// +required
	OSVersionManagement OSVersionManagement `json:"osVersionManagement"`

	// options are the nodeUpgradeOption that was in force when the rollout began.
	// +optional
	Options NodeUpgradeOption `json:"options,omitempty,omitzero"`

	// approved resumes the upgrade of a paused node. It has the same effect as removing the pause annotation from its Node.
	// +optional
	Approved bool `json:"approved,omitempty"`

	// cancel aborts the attempt: its changes are undone, and the host keeps its OS. It has no effect
	// after the host has begun to write the image.
	// +optional
	Cancel bool `json:"cancel,omitempty"`

	// release frees the slot of an attempt whose host is lost.
	// +optional
	Release bool `json:"release,omitempty"`

	// skipPreflight waives preflight checks for this attempt: what they find is a warning.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=32
	SkipPreflight []PreflightCheck `json:"skipPreflight,omitempty"`
}

// UpgradePhase is the state of an attempt.
// +kubebuilder:validation:Enum=Pending;Progressing;Succeeded;RolledBack;Failed;Superseded;Aborted;HostLost
type UpgradePhase string

// Phases of an attempt. Those of UpgradeEnds are final.
const (
	UpgradePending     UpgradePhase = "Pending"
	UpgradeProgressing UpgradePhase = "Progressing"
	// UpgradeSucceeded: the host runs the desired OS and its node serves again.
	UpgradeSucceeded UpgradePhase = "Succeeded"
	// UpgradeRolledBack: the host fell back to its former OS.
	UpgradeRolledBack UpgradePhase = "RolledBack"
	// UpgradeFailed: the attempt ended before the reboot.
	UpgradeFailed UpgradePhase = "Failed"
	// UpgradeSuperseded: the machine's owner now wants another OS.
	UpgradeSuperseded UpgradePhase = "Superseded"
	// UpgradeAborted: a user cancelled the attempt, or the machine is being deleted.
	UpgradeAborted UpgradePhase = "Aborted"
	// UpgradeHostLost: the host has not booted within the timeout. The attempt continues if it comes back.
	UpgradeHostLost UpgradePhase = "HostLost"
)

// ElementalHostUpgradeStatus is the observed state of an attempt. Everything in it but unhealthyBefore can be observed again.
type ElementalHostUpgradeStatus struct {
	// conditions of the attempt: Admitted, Disrupting, Progressing, Succeeded, Paused; after a rollback FormerOSHealthy.
	// +optional
	// +listType=map
	// +listMapKey=type
	// +kubebuilder:validation:MaxItems=32
	Conditions []metav1.Condition `json:"conditions,omitempty"`

	// attempt is the id of the attempt, which is recorded in all its annotations on other objects.
	// +optional
	Attempt string `json:"attempt,omitempty"`

	// phase of the attempt.
	// +optional
	Phase UpgradePhase `json:"phase,omitempty"`

	// step is the current step of the attempt, for example "Drain". Empty once the attempt has ended.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	Step string `json:"step,omitempty"`

	// stepIndex is the position of step among the steps of the attempt, from 1.
	// +optional
	StepIndex int32 `json:"stepIndex,omitempty"`

	// stepCount is the number of steps of the attempt.
	// +optional
	StepCount int32 `json:"stepCount,omitempty"`

	// progress is stepIndex of stepCount and, during a long operation of the host, how far that is: "7/14", or
	// "2/14, Download: 412 of 1024 MiB". The operation is updated when the attempt is reconciled for other reasons, and may be
	// half a minute old.
	// +optional
	Progress string `json:"progress,omitempty"`

	// message says what the attempt waits for, or how it ended.
	// +optional
	Message string `json:"message,omitempty"`

	// holds are the reasons why the attempt does not continue, in the order in which they are decided. There are none while a step waits for what it has
	// started, within the step's time-out if it has one, and when the attempt has ended.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=64
	Holds []UpgradeHold `json:"holds,omitempty"`

	// nodeName is the Node of the host.
	// +optional
	NodeName string `json:"nodeName,omitempty"`

	// digest that the image was resolved to.
	// +optional
	Digest string `json:"digest,omitempty"`

	// from is the OS that the host ran before.
	// +optional
	From HostOS `json:"from,omitempty,omitzero"`

	// to is the OS that the host runs after the upgrade.
	// +optional
	To HostOS `json:"to,omitempty,omitzero"`

	// preflight lists the checks that did not pass when they were last run.
	// +optional
	// +listType=map
	// +listMapKey=check
	// +kubebuilder:validation:MaxItems=64
	Preflight []PreflightResult `json:"preflight,omitempty"`

	// checks are the results of the checks that the host ran before and after its reboot, as it last reported them in this attempt.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=32
	Checks []HostCheck `json:"checks,omitempty"`

	// unhealthyBefore is what was not healthy on the node for 5 minutes when the attempt was about to cordon it. The attempt does not wait
	// for it after the reboot. It is written once; what does not fit, and what was lost by clusterctl move, is waited for.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=64
	UnhealthyBefore []UnhealthyObject `json:"unhealthyBefore,omitempty"`

	// virtualMachines are those that ran on the node when it was evacuated, with the decision for each. If there are more
	// than fit here, those that block the evacuation are listed first.
	// +optional
	// +listType=map
	// +listMapKey=namespace
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=1000
	VirtualMachines []VirtualMachineStatus `json:"virtualMachines,omitempty"`

	// steps that have begun, with their times.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=64
	Steps []UpgradeStepStatus `json:"steps,omitempty"`

	// startTime is when the attempt was first acted on.
	// +optional
	StartTime *metav1.Time `json:"startTime,omitempty"`

	// completionTime is when it ended.
	// +optional
	CompletionTime *metav1.Time `json:"completionTime,omitempty"`
}

// UpgradeStepStatus has the times at which a step began and ended.
type UpgradeStepStatus struct {
	// name of the step.
	// +required
	Name string `json:"name"`
	// startTime is when the step began.
	// +required
	StartTime metav1.Time `json:"startTime"`
	// completionTime is when the step was observed to be done.
	// +optional
	CompletionTime *metav1.Time `json:"completionTime,omitempty"`
}

// UnhealthyKind is the kind of an object that is not healthy on a node.
// +kubebuilder:validation:Enum=Node;DaemonSet;PersistentVolume
type UnhealthyKind string

// Kinds of objects that are not healthy on a node.
const (
	// UnhealthyNode: the Node itself is not Ready.
	UnhealthyNode UnhealthyKind = "Node"
	// UnhealthyDaemonSet: the Pod of a DaemonSet on the node is not Ready.
	UnhealthyDaemonSet UnhealthyKind = "DaemonSet"
	// UnhealthyVolume: a volume is not attached to the node that is to be.
	UnhealthyVolume UnhealthyKind = "PersistentVolume"
)

// UnhealthyObject is what is not healthy on a node. It is named by what stays the same: a DaemonSet, and not its Pod.
type UnhealthyObject struct {
	// kind is Node, DaemonSet or PersistentVolume.
	// +required
	Kind UnhealthyKind `json:"kind"`
	// namespace of the object; empty for kinds without one.
	// +optional
	// +kubebuilder:validation:MaxLength=63
	Namespace string `json:"namespace,omitempty"`
	// name of the object.
	// +required
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name"`
}

// VMDecision is how a virtual machine is handled when its node is evacuated.
// +kubebuilder:validation:Enum=Migrate;Shutdown;ShutdownAndRestore;Block;Ignore
type VMDecision string

// Decisions on a virtual machine.
const (
	// VMMigrate live-migrates it to another node.
	VMMigrate VMDecision = "Migrate"
	// VMShutdown stops it; it stays off.
	VMShutdown VMDecision = "Shutdown"
	// VMShutdownAndRestore stops it, and starts it again when the node serves again.
	VMShutdownAndRestore VMDecision = "ShutdownAndRestore"
	// VMBlock leaves it running, and the upgrade waits.
	VMBlock VMDecision = "Block"
	// VMIgnore: it has ended, or is already being stopped or deleted.
	VMIgnore VMDecision = "Ignore"
)

// VirtualMachineStatus is the decision for a virtual machine, and its reason.
type VirtualMachineStatus struct {
	// namespace of the VirtualMachineInstance.
	// +required
	Namespace string `json:"namespace"`
	// name of the VirtualMachineInstance.
	// +required
	Name string `json:"name"`
	// decision that was made.
	// +required
	Decision VMDecision `json:"decision"`
	// reason for the decision.
	// +optional
	// +kubebuilder:validation:MaxLength=512
	Reason string `json:"reason,omitempty"`
}

// ElementalHostUpgrade is one attempt to upgrade one host to one OS version.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:path=elementalhostupgrades,scope=Namespaced,categories=cluster-api,shortName=ehu
// +kubebuilder:metadata:labels="cluster.x-k8s.io/v1beta2=v1beta1"
// +kubebuilder:subresource:status
// +kubebuilder:selectablefield:JSONPath=".spec.clusterName"
// +kubebuilder:selectablefield:JSONPath=".spec.hostName"
// +kubebuilder:selectablefield:JSONPath=".spec.machineName"
// +kubebuilder:selectablefield:JSONPath=".status.phase"
// +kubebuilder:printcolumn:name="Node",type="string",JSONPath=".status.nodeName",description="Node that is upgraded"
// +kubebuilder:printcolumn:name="Phase",type="string",JSONPath=".status.phase",description="State of the attempt"
// +kubebuilder:printcolumn:name="Step",type="string",JSONPath=".status.step",description="Current step"
// +kubebuilder:printcolumn:name="Progress",type="string",JSONPath=".status.progress",description="Position of the step, and progress of the host in it"
// +kubebuilder:printcolumn:name="Held",type="string",JSONPath=".status.holds[0].reason",description="Why the attempt does not continue"
// +kubebuilder:printcolumn:name="From",type="string",JSONPath=".status.from.imageURI",description="OS image before",priority=1
// +kubebuilder:printcolumn:name="To",type="string",JSONPath=".spec.imageURI",description="OS image that is upgraded to",priority=1
// +kubebuilder:printcolumn:name="Age",type="date",JSONPath=".metadata.creationTimestamp"
// +kubebuilder:printcolumn:name="Message",type="string",JSONPath=".status.message",description="What the attempt waits for, or how it ended"
type ElementalHostUpgrade struct {
	metav1.TypeMeta `json:",inline"`

	// metadata of the object.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec is the desired state.
	// +required
	Spec ElementalHostUpgradeSpec `json:"spec"`

	// status is the observed state.
	// +optional
	Status ElementalHostUpgradeStatus `json:"status,omitempty,omitzero"`
}

// GetConditions returns the conditions of the object, for Cluster API's condition helpers.
func (u *ElementalHostUpgrade) GetConditions() []metav1.Condition { return u.Status.Conditions }

// SetConditions replaces the conditions of the object.
func (u *ElementalHostUpgrade) SetConditions(conditions []metav1.Condition) {
	u.Status.Conditions = conditions
}

// ElementalHostUpgradeList is a list of ElementalHostUpgrade.
//
// +kubebuilder:object:root=true
type ElementalHostUpgradeList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []ElementalHostUpgrade `json:"items"`
}
