// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package v1beta1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
)

// ElementalMachineTemplateSpec holds the template.
type ElementalMachineTemplateSpec struct {
	// template from which ElementalMachines are created.
	// +required
	Template ElementalMachineTemplateResource `json:"template"`

	// skipPreflight waives preflight checks for all Machines that the template is rolled out to: what they find is a warning.
	// Changing it starts no rollout, except in a template that a ClusterClass refers to: Cluster API makes new templates of that, to
	// which it rolls out. There, set it in the template of the Cluster instead.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=32
	SkipPreflight []PreflightCheck `json:"skipPreflight,omitempty"`
}

// ElementalMachineTemplateResource is the ElementalMachine to be created.
type ElementalMachineTemplateResource struct {
	// metadata of the ElementalMachines created.
	// +optional
	ObjectMeta clusterv1.ObjectMeta `json:"metadata,omitempty,omitzero"`
	// spec of the ElementalMachines created.
	// +optional
	Spec ElementalMachineSpec `json:"spec,omitempty,omitzero"`
}

// ElementalMachineTemplateStatus is the observed state of the rollout of a template.
type ElementalMachineTemplateStatus struct {
	// conditions of the template: RolledOut, RolloutBlocked, OSVersionResolved.
	// +optional
	// +listType=map
	// +listMapKey=type
	// +kubebuilder:validation:MaxItems=32
	Conditions []metav1.Condition `json:"conditions,omitempty"`

	// holds are what keeps the OS from all Machines until a user ends it, or others have not ended for a minute: what is in the way of the rollout, with the
	// reason of a condition, Machines that Cluster API does not bring to the template, and what holds the upgrades of Machines. Each reason is there once, with the first object that has it.
	// Empty while the rollout continues.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=32
	Holds []UpgradeHold `json:"holds,omitempty"`

	// estimatedCompletionTime is when the last Machine will run the OS, by how long the last upgrades of Machines of the Cluster took. It is absent while none
	// has been upgraded, while holds is not empty, and when all run it.
	// +optional
	EstimatedCompletionTime *metav1.Time `json:"estimatedCompletionTime,omitempty"`

	// currentRollouts names the ElementalRollouts that bring Machines to the content, one for each Cluster. It is empty between two rollouts.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MaxLength=253
	CurrentRollouts []string `json:"currentRollouts,omitempty"`

	// imageURI is the OS image of the template: osVersion.imageURI, or the image of its managedOSVersionName.
	// +optional
	// +kubebuilder:validation:MaxLength=4096
	ImageURI string `json:"imageURI,omitempty"`

	// machines is the number of Machines that were made from the template, or whose owner refers to it.
	// +optional
	Machines *int32 `json:"machines,omitempty"`

	// upToDateMachines is the number of those Machines that run the OS of the template.
	// +optional
	UpToDateMachines *int32 `json:"upToDateMachines,omitempty"`

	// owners of the Machines, by name, with what upgrades their hosts; the first 256.
	// +optional
	// +listType=map
	// +listMapKey=owner
	// +kubebuilder:validation:MaxItems=256
	Owners []TemplateOwner `json:"owners,omitempty"`
}

// TemplateOwner is an owner of Machines that were made from a template.
type TemplateOwner struct {
	// owner is its kind and name, as in "MachineDeployment workers". A Machine without an owner is its own.
	// +required
	Owner string `json:"owner"`
	// driver is what upgrades its hosts when the template is patched: Direct, or RancherDrain in a Cluster that Rancher has provisioned.
	// +optional
	Driver UpgradeDriver `json:"driver,omitempty"`
}

// ElementalMachineTemplate is a template of ElementalMachines. Of spec.template.spec only osVersionManagement may be
// changed: its machines are then upgraded in place, and neither their owners nor the references of these are changed.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:path=elementalmachinetemplates,scope=Namespaced,categories=cluster-api,shortName=emt
// +kubebuilder:metadata:labels="cluster.x-k8s.io/v1beta2=v1beta1"
// +kubebuilder:subresource:status
// +kubebuilder:printcolumn:name="Image",type="string",JSONPath=".status.imageURI",description="OS image"
// +kubebuilder:printcolumn:name="Machines",type="integer",JSONPath=".status.machines",description="Machines that were made from it, or whose owner refers to it"
// +kubebuilder:printcolumn:name="UpToDate",type="integer",JSONPath=".status.upToDateMachines",description="Machines that run the OS image"
// +kubebuilder:printcolumn:name="RolledOut",type="string",JSONPath=".status.conditions[?(@.type=='RolledOut')].status",description="Whether all Machines run the OS image"
// +kubebuilder:printcolumn:name="ETA",type="string",JSONPath=".status.estimatedCompletionTime",description="When the last Machine will run the OS, as far as is known"
// +kubebuilder:printcolumn:name="Rollout",type="string",JSONPath=".status.currentRollouts",description="ElementalRollouts that bring Machines to it",priority=1
// +kubebuilder:printcolumn:name="Age",type="date",JSONPath=".metadata.creationTimestamp"
// +kubebuilder:printcolumn:name="Blocked",type="string",JSONPath=".status.holds[0].message",description="What keeps the OS from all Machines; empty if nothing"
type ElementalMachineTemplate struct {
	metav1.TypeMeta `json:",inline"`

	// metadata of the object.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec is the desired state.
	// +required
	Spec ElementalMachineTemplateSpec `json:"spec"`

	// status is the observed state.
	// +optional
	Status ElementalMachineTemplateStatus `json:"status,omitempty,omitzero"`
}

// GetConditions returns the conditions of the object, for Cluster API's condition helpers.
func (t *ElementalMachineTemplate) GetConditions() []metav1.Condition { return t.Status.Conditions }

// SetConditions replaces the conditions of the object.
func (t *ElementalMachineTemplate) SetConditions(conditions []metav1.Condition) {
	t.Status.Conditions = conditions
}

// ElementalMachineTemplateList is a list of ElementalMachineTemplate.
//
// +kubebuilder:object:root=true
type ElementalMachineTemplateList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []ElementalMachineTemplate `json:"items"`
}
