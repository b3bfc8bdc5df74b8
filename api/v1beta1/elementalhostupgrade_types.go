// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package v1beta1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// ElementalHostUpgradeSpec says which host is brought to which OS. A person may change approved, cancel and release; all
// else is immutable: by the rules below, and osVersionManagement, which has no schema that they could read, by the
// ValidatingAdmissionPolicy in config/policy.
//
// +kubebuilder:validation:XValidation:rule="self.clusterName == oldSelf.clusterName && self.machineName == oldSelf.machineName && self.elementalMachineName == oldSelf.elementalMachineName && self.hostName == oldSelf.hostName && self.imageURI == oldSelf.imageURI",message="the attempt's machine, host and image are immutable: delete the ElementalHostUpgrade to try anew"
// +kubebuilder:validation:XValidation:rule="has(self.templateName) == has(oldSelf.templateName) && (!has(self.templateName) || self.templateName == oldSelf.templateName) && has(self.osVersionHash) == has(oldSelf.osVersionHash) && (!has(self.osVersionHash) || self.osVersionHash == oldSelf.osVersionHash)",message="the attempt's template is immutable: patch the template itself, which starts a new attempt"
// +kubebuilder:validation:XValidation:rule="has(self.options) == has(oldSelf.options) && (!has(self.options) || self.options == oldSelf.options)",message="the attempt's options are immutable: change the Cluster's, which hold for the next rollout"
type ElementalHostUpgradeSpec struct {
	// clusterName is the Cluster of the machine.
	// +kubebuilder:validation:MinLength=1
	ClusterName string `json:"clusterName"`

	// machineName is the Machine that Cluster API updates.
	// +kubebuilder:validation:MinLength=1
	MachineName string `json:"machineName"`

	// elementalMachineName is the Machine's ElementalMachine.
	// +kubebuilder:validation:MinLength=1
	ElementalMachineName string `json:"elementalMachineName"`

	// hostName is the ElementalHost that is upgraded.
	// +kubebuilder:validation:MinLength=1
	HostName string `json:"hostName"`

	// templateName is the ElementalMachineTemplate the wanted OS comes from.
	// +optional
	TemplateName string `json:"templateName,omitempty"`

	// osVersionHash identifies the wanted OS, for people and for other attempts: the SHA-256 of osVersionManagement without
	// fields like debug. The manager computes it anew, and an attempt that declares another fails.
	// +optional
	OSVersionHash string `json:"osVersionHash,omitempty"`

	// imageURI of the wanted OS, for people. An attempt that declares another than osVersionManagement fails.
	// +kubebuilder:validation:MinLength=1
	ImageURI string `json:"imageURI"`

	// osVersionManagement is the wanted OS: what the host is offered, and what is compared with what the Machine's owner wants.
	// +kubebuilder:validation:Schemaless
	// +kubebuilder:pruning:PreserveUnknownFields
	OSVersionManagement OSVersionManagement `json:"osVersionManagement"`

	// options are the nodeUpgradeOption of the rollout, as they were when it was first seen.
	// +optional
	Options NodeUpgradeOption `json:"options,omitempty,omitzero"`

	// approved lets a paused node go on. It is the same as removing the pause annotation from its Node.
	// +optional
	Approved bool `json:"approved,omitempty"`

	// cancel aborts the attempt: what can be undone is undone, and the host keeps its OS. After the
	// host has begun to write the image it is too late.
	// +optional
	Cancel bool `json:"cancel,omitempty"`

	// release frees the slot of an attempt whose host is lost.
	// +optional
	Release bool `json:"release,omitempty"`
}

// UpgradePhase is the state of an attempt.
type UpgradePhase string

// Phases of an attempt. All but Pending and Progressing are ends; HostLost is one that the host can
// come back from.
const (
	UpgradePending     UpgradePhase = "Pending"
	UpgradeProgressing UpgradePhase = "Progressing"
	// UpgradeSucceeded: the host runs the wanted OS and its node serves again.
	UpgradeSucceeded UpgradePhase = "Succeeded"
	// UpgradeRolledBack: the host fell back to its former OS.
	UpgradeRolledBack UpgradePhase = "RolledBack"
	// UpgradeFailed: the attempt ended before the reboot.
	UpgradeFailed UpgradePhase = "Failed"
	// UpgradeSuperseded: the machine's owner wants another OS by now.
	UpgradeSuperseded UpgradePhase = "Superseded"
	// UpgradeAborted: a person cancelled the attempt, or the machine is being deleted.
	UpgradeAborted UpgradePhase = "Aborted"
	// UpgradeHostLost: the host has not booted within the time-out.
	UpgradeHostLost UpgradePhase = "HostLost"
)

// ElementalHostUpgradeStatus reports an attempt. It holds nothing that could not be observed again.
type ElementalHostUpgradeStatus struct {
	// conditions of the attempt: Progressing, Succeeded, Paused; after a roll-back FormerOSHealthy.
	// +optional
	// +listType=map
	// +listMapKey=type
	// +kubebuilder:validation:MaxItems=32
	Conditions []metav1.Condition `json:"conditions,omitempty"`

	// attempt is the id that every mark of the attempt carries.
	// +optional
	Attempt string `json:"attempt,omitempty"`

	// phase of the attempt.
	// +optional
	Phase UpgradePhase `json:"phase,omitempty"`

	// step the attempt is at, as "Drain (7/14)".
	// +optional
	Step string `json:"step,omitempty"`

	// progress of the host with what takes long, as "Download: 412 of 1024 MiB"; empty where nothing is under way that is counted.
	// It is read when the attempt is looked at anyway, and may be half a minute old.
	// +optional
	Progress string `json:"progress,omitempty"`

	// message says what the attempt waits for, or how it ended.
	// +optional
	Message string `json:"message,omitempty"`

	// nodeName is the Node of the host.
	// +optional
	NodeName string `json:"nodeName,omitempty"`

	// digest that the image was resolved to.
	// +optional
	Digest string `json:"digest,omitempty"`

	// from is the OS that the host ran before.
	// +optional
	From HostOS `json:"from,omitempty,omitzero"`

	// to is the OS that the host runs since.
	// +optional
	To HostOS `json:"to,omitempty,omitzero"`

	// preflight are the checks that did not pass when they were last run.
	// +optional
	// +listType=map
	// +listMapKey=check
	Preflight []PreflightResult `json:"preflight,omitempty"`

	// checks that the host made of itself before and after its reboot, as it last reported them in this attempt.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=32
	Checks []HostCheck `json:"checks,omitempty"`

	// virtualMachines are those that ran on the node when it was evacuated, each with what was decided for it. Those
	// that hold the evacuation come first where there are more than fit here.
	// +optional
	// +listType=map
	// +listMapKey=namespace
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=1000
	VirtualMachines []VirtualMachineStatus `json:"virtualMachines,omitempty"`

	// steps entered so far, with their times.
	// +optional
	// +listType=map
	// +listMapKey=name
	Steps []UpgradeStepStatus `json:"steps,omitempty"`

	// startedAt is when the attempt was first acted on.
	// +optional
	StartedAt *metav1.Time `json:"startedAt,omitempty"`

	// finishedAt is when it ended.
	// +optional
	FinishedAt *metav1.Time `json:"finishedAt,omitempty"`
}

// UpgradeStepStatus is when a step was entered and left.
type UpgradeStepStatus struct {
	// name of the step.
	Name string `json:"name"`
	// startedAt is when the step was entered.
	StartedAt metav1.Time `json:"startedAt"`
	// finishedAt is when it was found done.
	// +optional
	FinishedAt *metav1.Time `json:"finishedAt,omitempty"`
}

// VMDecision is what becomes of a virtual machine when its node is evacuated.
// +kubebuilder:validation:Enum=Migrate;Shutdown;ShutdownAndRestore;Block;Ignore
type VMDecision string

// Decisions on a virtual machine.
const (
	// VMMigrate moves it to another node without a restart.
	VMMigrate VMDecision = "Migrate"
	// VMShutdown stops it; it stays off.
	VMShutdown VMDecision = "Shutdown"
	// VMShutdownAndRestore stops it, and starts it again when the node serves again.
	VMShutdownAndRestore VMDecision = "ShutdownAndRestore"
	// VMBlock leaves it running, and the upgrade waits.
	VMBlock VMDecision = "Block"
	// VMIgnore is for one of which nothing runs any more, or that is going already.
	VMIgnore VMDecision = "Ignore"
)

// VirtualMachineStatus is what was decided for a virtual machine, and why.
type VirtualMachineStatus struct {
	// namespace of the VirtualMachineInstance.
	Namespace string `json:"namespace"`
	// name of the VirtualMachineInstance.
	Name string `json:"name"`
	// decision that was made.
	Decision VMDecision `json:"decision"`
	// reason for the decision.
	// +optional
	// +kubebuilder:validation:MaxLength=512
	Reason string `json:"reason,omitempty"`
}

// PreflightVerdict is what a check found.
// +kubebuilder:validation:Enum=Pass;Warn;Block
type PreflightVerdict string

// Verdicts of a preflight check.
const (
	PreflightPass  PreflightVerdict = "Pass"
	PreflightWarn  PreflightVerdict = "Warn"
	PreflightBlock PreflightVerdict = "Block"
)

// PreflightResult is what a check found, and what to do about it.
type PreflightResult struct {
	// check that was run.
	Check string `json:"check"`
	// verdict of the check.
	Verdict PreflightVerdict `json:"verdict"`
	// object that the verdict is about, as "Node/node-2".
	// +optional
	Object string `json:"object,omitempty"`
	// message says what is wrong and what to do.
	// +optional
	Message string `json:"message,omitempty"`
}

// ElementalHostUpgrade is one attempt to bring one host to one OS version.
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
// +kubebuilder:printcolumn:name="Step",type="string",JSONPath=".status.step",description="Step the attempt is at"
// +kubebuilder:printcolumn:name="Progress",type="string",JSONPath=".status.progress",description="How far the host is with what takes long"
// +kubebuilder:printcolumn:name="From",type="string",JSONPath=".status.from.version",description="OS before"
// +kubebuilder:printcolumn:name="To",type="string",JSONPath=".spec.imageURI",description="Wanted OS image"
// +kubebuilder:printcolumn:name="Age",type="date",JSONPath=".metadata.creationTimestamp"
// +kubebuilder:printcolumn:name="Message",type="string",JSONPath=".status.message",description="What the attempt waits for, or how it ended"
type ElementalHostUpgrade struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec ElementalHostUpgradeSpec `json:"spec"`
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
