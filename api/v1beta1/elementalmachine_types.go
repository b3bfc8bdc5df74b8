// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package v1beta1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
)

// ElementalMachineSpec is the desired state of an ElementalMachine.
//
// +kubebuilder:validation:XValidation:rule="!has(oldSelf.providerID) || (has(self.providerID) && self.providerID == oldSelf.providerID)",message="providerID is set once: delete the Machine to have it replaced on another host"
type ElementalMachineSpec struct {
	// providerID is elemental://<namespace>/<host>, written once a host is associated, and the same as
	// the Node's.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=512
	ProviderID string `json:"providerID,omitempty"`

	// selector selects the ElementalHosts that may serve the machine. Nil: any.
	// +optional
	Selector *metav1.LabelSelector `json:"selector,omitempty"`

	// hostRef is the ElementalHost that serves the machine, written when it is associated.
	// +optional
	HostRef *LocalReference `json:"hostRef,omitempty"`

	// osVersionManagement is the OS the machine's host has to run: the one part of the spec that is
	// changed in place.
	// +optional
	// +nullable
	OSVersionManagement OSVersionManagement `json:"osVersionManagement,omitempty,omitzero"`
}

// ElementalMachineStatus is the observed state of an ElementalMachine.
type ElementalMachineStatus struct {
	// conditions of the ElementalMachine: Ready, AssociationReady, HostReady, ProviderIDReady, OSUpToDate,
	// OSDrifted, Disrupted, Deleting, Evacuating, Paused.
	// +optional
	// +listType=map
	// +listMapKey=type
	// +kubebuilder:validation:MaxItems=32
	Conditions []metav1.Condition `json:"conditions,omitempty"`

	// initialization is read by Cluster API (contract v1beta2).
	// +optional
	Initialization InitializationStatus `json:"initialization,omitempty,omitzero"`

	// addresses of the host, as its agent reports them.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=32
	Addresses []clusterv1.MachineAddress `json:"addresses,omitempty"`

	// failureDomain the host is in.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=256
	FailureDomain string `json:"failureDomain,omitempty"`
}

// ElementalMachine is the infrastructure of a Machine: a claim to an ElementalHost.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:path=elementalmachines,scope=Namespaced,categories=cluster-api
// +kubebuilder:metadata:labels="cluster.x-k8s.io/v1beta2=v1beta1"
// +kubebuilder:subresource:status
// +kubebuilder:printcolumn:name="Cluster",type="string",JSONPath=".metadata.labels['cluster\\.x-k8s\\.io/cluster-name']",description="Cluster to which this ElementalMachine belongs"
// +kubebuilder:printcolumn:name="Ready",type="string",JSONPath=".status.conditions[?(@.type=='Ready')].status",description="Whether the machine is ready"
// +kubebuilder:printcolumn:name="Host",type="string",JSONPath=".spec.hostRef.name",description="ElementalHost that serves the machine"
// +kubebuilder:printcolumn:name="OSUpToDate",type="string",JSONPath=".status.conditions[?(@.type=='OSUpToDate')].status",description="Whether the host runs the OS that the template specifies"
// +kubebuilder:printcolumn:name="Drifted",type="string",JSONPath=".status.conditions[?(@.type=='OSDrifted')].status",description="Whether the host left its OS outside of any upgrade",priority=1
// +kubebuilder:printcolumn:name="ProviderID",type="string",JSONPath=".spec.providerID",description="Provider ID",priority=1
// +kubebuilder:printcolumn:name="Machine",type="string",JSONPath=".metadata.ownerReferences[?(@.kind==\"Machine\")].name",description="Machine that owns the ElementalMachine",priority=1
// +kubebuilder:printcolumn:name="Age",type="date",JSONPath=".metadata.creationTimestamp"
type ElementalMachine struct {
	metav1.TypeMeta `json:",inline"`

	// metadata of the object.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec is the desired state.
	// +optional
	Spec ElementalMachineSpec `json:"spec,omitempty,omitzero"`

	// status is the observed state.
	// +optional
	Status ElementalMachineStatus `json:"status,omitempty,omitzero"`
}

// GetConditions returns the conditions of the object, for Cluster API's condition helpers.
func (m *ElementalMachine) GetConditions() []metav1.Condition {
	return withReasons(m.Status.Conditions)
}

// SetConditions replaces the conditions of the object.
func (m *ElementalMachine) SetConditions(conditions []metav1.Condition) {
	m.Status.Conditions = conditions
}

// ElementalMachineList is a list of ElementalMachine.
//
// +kubebuilder:object:root=true
type ElementalMachineList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []ElementalMachine `json:"items"`
}
