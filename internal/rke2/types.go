// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package rke2

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/intstr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
)

// GroupVersion of RKE2ControlPlanes. CAPRKE2 serves it since v0.22, and updates in place since v0.25.
var GroupVersion = schema.GroupVersion{Group: "controlplane.cluster.x-k8s.io", Version: "v1beta2"}

const (
	// ControlPlaneKind is the kind of a ControlPlane.
	ControlPlaneKind = "RKE2ControlPlane"
	// ControlPlaneResource is its resource.
	ControlPlaneResource = "rke2controlplanes"

	// AgentHealthyCondition of a Machine tells whether its Node is Ready. It is Unknown while the Node cannot be reached.
	AgentHealthyCondition = "AgentHealthy"
	// EtcdMemberHealthyCondition of a Machine tells whether its Node exists: CAPRKE2 does not ask etcd.
	EtcdMemberHealthyCondition = "EtcdMemberHealthy"

	// RollingUpdateStrategyType is the only strategy there is.
	RollingUpdateStrategyType = "RollingUpdate"
	// FieldManager is who CAPRKE2 applies as.
	FieldManager = "rke2controlplane"
)

// ControlPlane is an RKE2ControlPlane.
//
// +kubebuilder:object:root=true
type ControlPlane struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   ControlPlaneSpec   `json:"spec,omitempty,omitzero"`
	Status ControlPlaneStatus `json:"status,omitempty,omitzero"`
}

// ControlPlaneSpec is the part of the specification that is used.
type ControlPlaneSpec struct {
	// Replicas that are wanted; one if it is nil.
	Replicas *int32 `json:"replicas,omitempty"`
	// RolloutStrategy of changes; CAPRKE2's default is a rolling update with maxSurge 1.
	RolloutStrategy *RolloutStrategy `json:"rolloutStrategy,omitempty"`
	// MachineTemplate of the Machines.
	MachineTemplate MachineTemplate `json:"machineTemplate,omitempty,omitzero"`
}

// RolloutStrategy says how Machines are replaced.
type RolloutStrategy struct {
	Type          string         `json:"type,omitempty"`
	RollingUpdate *RollingUpdate `json:"rollingUpdate,omitempty"`
}

// RollingUpdate has the parameters of a rolling update.
type RollingUpdate struct {
	// MaxSurge is 0 or 1; 1 if it is nil.
	MaxSurge *intstr.IntOrString `json:"maxSurge,omitempty"`
}

// MachineTemplate is a template of Machines.
type MachineTemplate struct {
	Spec MachineTemplateSpec `json:"spec,omitempty,omitzero"`
}

// MachineTemplateSpec has the reference to the infrastructure template.
type MachineTemplateSpec struct {
	InfrastructureRef clusterv1.ContractVersionedObjectReference `json:"infrastructureRef,omitempty,omitzero"`
}

// ControlPlaneStatus is the part of the status that is used.
type ControlPlaneStatus struct {
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
}

// ControlPlaneList is a list of RKE2ControlPlanes.
//
// +kubebuilder:object:root=true
type ControlPlaneList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []ControlPlane `json:"items"`
}

// AddToScheme adds the kinds under the names that CAPRKE2 gives them.
func AddToScheme(scheme *runtime.Scheme) error {
	scheme.AddKnownTypeWithName(GroupVersion.WithKind(ControlPlaneKind), &ControlPlane{})
	scheme.AddKnownTypeWithName(GroupVersion.WithKind(ControlPlaneKind+"List"), &ControlPlaneList{})
	metav1.AddToGroupVersion(scheme, GroupVersion)
	return nil
}
