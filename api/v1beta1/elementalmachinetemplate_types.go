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
	Template ElementalMachineTemplateResource `json:"template"`
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
	// conditions of the template: RolledOut, RolloutBlocked, ReferenceReverted, OSVersionResolved.
	// +optional
	// +listType=map
	// +listMapKey=type
	// +kubebuilder:validation:MaxItems=32
	Conditions []metav1.Condition `json:"conditions,omitempty"`

	// currentClone is the name of the clone that the template's owners refer to, once its content has
	// been changed.
	// +optional
	CurrentClone string `json:"currentClone,omitempty"`
}

// ElementalMachineTemplate is a template of ElementalMachines. Only osVersionManagement may be
// changed: its owners are then pointed to a clone with the new content, and their machines are
// upgraded in place.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:path=elementalmachinetemplates,scope=Namespaced,categories=cluster-api,shortName=emt
// +kubebuilder:metadata:labels="cluster.x-k8s.io/v1beta2=v1beta1"
// +kubebuilder:subresource:status
// +kubebuilder:printcolumn:name="Image",type="string",JSONPath=".spec.template.spec.osVersionManagement.osVersion.imageUri",description="OS image"
// +kubebuilder:printcolumn:name="RolledOut",type="string",JSONPath=".status.conditions[?(@.type=='RolledOut')].status",description="Whether all owners refer to this content"
// +kubebuilder:printcolumn:name="Blocked",type="string",JSONPath=".status.conditions[?(@.type=='RolloutBlocked')].reason",description="Why the content cannot be rolled out in place"
// +kubebuilder:printcolumn:name="Clone",type="string",JSONPath=".status.currentClone",description="Clone that the owners refer to",priority=1
// +kubebuilder:printcolumn:name="Age",type="date",JSONPath=".metadata.creationTimestamp"
type ElementalMachineTemplate struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec ElementalMachineTemplateSpec `json:"spec"`
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
