// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package v1beta1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
)

// ElementalClusterSpec is the desired state of an ElementalCluster.
type ElementalClusterSpec struct {
	// controlPlaneEndpoint is the address of the cluster's API server.
	// +optional
	ControlPlaneEndpoint clusterv1.APIEndpoint `json:"controlPlaneEndpoint,omitempty,omitzero"`

	// nodeUpgradeOption configures how the nodes of the cluster are upgraded in place.
	// +optional
	NodeUpgradeOption NodeUpgradeOption `json:"nodeUpgradeOption,omitempty,omitzero"`

	// imageVerification defines whose signature the OS images of the cluster's hosts need. The rules in force when an attempt
	// begins, and again when it is triggered, apply. Default: none.
	// +optional
	ImageVerification *ImageVerification `json:"imageVerification,omitempty"`

	// skipPreflight waives preflight checks for all nodes of the cluster: what they find is a warning.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=32
	SkipPreflight []PreflightCheck `json:"skipPreflight,omitempty"`

	// quarantine lists the images that hosts of the cluster rolled back from, or were lost with before a MachineHealthCheck had their Machines replaced. No host of the cluster is upgraded to one of them, nor is
	// one of another cluster of the namespace, unless that waives the check Quarantine.
	// The upgrade controller adds an image, and removes it when a host succeeds with it; users remove an entry to try its image
	// again, or add one to ban its image. When the list is full the image that a host rolled back from first makes room; entries without
	// host or since stay.
	// +optional
	// +listType=map
	// +listMapKey=digest
	// +kubebuilder:validation:MaxItems=64
	Quarantine []QuarantinedImage `json:"quarantine,omitempty"`
}

// MaxQuarantine is the maximum length of spec.quarantine.
const MaxQuarantine = 64

// QuarantinedImage is an image that a host rolled back from.
type QuarantinedImage struct {
	// digest of the image's manifest for the platform of the hosts: "sha256:" and 64 hexadecimal digits, as status.os.digest of an
	// ElementalHost has it.
	// +required
	// +kubebuilder:validation:Pattern=`^sha256:[0-9a-z]+$`
	// +kubebuilder:validation:MinLength=8
	// +kubebuilder:validation:MaxLength=160
	Digest string `json:"digest"`
	// host is the name of the ElementalHost that rolled back from the image, or was lost with it. If several were, it is the first.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	Host string `json:"host,omitempty"`
	// since is when that was recorded.
	// +optional
	Since metav1.Time `json:"since,omitempty,omitzero"`
	// reason that the host gave for the rollback, or why the image is suspected.
	// +optional
	// +kubebuilder:validation:MaxLength=512
	Reason string `json:"reason,omitempty"`
}

// ElementalClusterStatus is the observed state of an ElementalCluster.
type ElementalClusterStatus struct {
	// conditions of the ElementalCluster: Ready, CAPIClusterReady, ControlPlaneEndpointReady, NodesUpToDate,
	// PauseNodesKnown, KubeconfigUsable, Paused.
	// +optional
	// +listType=map
	// +listMapKey=type
	// +kubebuilder:validation:MaxItems=32
	Conditions []metav1.Condition `json:"conditions,omitempty"`

	// initialization is read by Cluster API (contract v1beta2).
	// +optional
	Initialization InitializationStatus `json:"initialization,omitempty,omitzero"`

	// failureDomains that hosts of the cluster can be placed in.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=100
	FailureDomains []clusterv1.FailureDomain `json:"failureDomains,omitempty"`

	// upgradeSlots are the attempts that may currently disrupt a node. A slot is taken by an
	// update that carries the object's resourceVersion, so that two attempts never take the same one.
	// +optional
	// +listType=map
	// +listMapKey=attempt
	// +kubebuilder:validation:MaxItems=1000
	UpgradeSlots []UpgradeSlot `json:"upgradeSlots,omitempty"`
}

// UpgradeSlot is one of the cluster's nodeUpgradeOption.maxConcurrent slots, while it is occupied.
type UpgradeSlot struct {
	// attempt is the id of the attempt that occupies the slot.
	// +required
	Attempt string `json:"attempt"`
	// upgrade is the name of the ElementalHostUpgrade.
	// +required
	Upgrade string `json:"upgrade"`
	// controlPlane is true if the slot is occupied for a control plane node. Control plane nodes are
	// upgraded one at a time regardless of maxConcurrent.
	// +optional
	ControlPlane bool `json:"controlPlane,omitempty"`
}

// InitializationStatus is the part of a status that tells Cluster API that the infrastructure is
// provisioned.
type InitializationStatus struct {
	// provisioned is true once the infrastructure is provisioned. It never becomes false again.
	// +optional
	Provisioned *bool `json:"provisioned,omitempty"`
}

// ElementalCluster is the infrastructure of a Cluster whose machines are Elemental hosts.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:path=elementalclusters,scope=Namespaced,categories=cluster-api
// +kubebuilder:metadata:labels="cluster.x-k8s.io/v1beta2=v1beta1"
// +kubebuilder:subresource:status
// +kubebuilder:printcolumn:name="Cluster",type="string",JSONPath=".metadata.labels['cluster\\.x-k8s\\.io/cluster-name']",description="Cluster to which this ElementalCluster belongs"
// +kubebuilder:printcolumn:name="Ready",type="string",JSONPath=".status.conditions[?(@.type=='Ready')].status",description="Whether the infrastructure is ready"
// +kubebuilder:printcolumn:name="Nodes",type="string",JSONPath=".status.conditions[?(@.type=='NodesUpToDate')].message",description="What the nodes run, and what is done to them"
// +kubebuilder:printcolumn:name="Endpoint",type="string",JSONPath=".spec.controlPlaneEndpoint.host",description="Control plane endpoint",priority=1
// +kubebuilder:printcolumn:name="Age",type="date",JSONPath=".metadata.creationTimestamp"
type ElementalCluster struct {
	metav1.TypeMeta `json:",inline"`

	// metadata of the object.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec is the desired state.
	// +optional
	Spec ElementalClusterSpec `json:"spec,omitempty,omitzero"`

	// status is the observed state.
	// +optional
	Status ElementalClusterStatus `json:"status,omitempty,omitzero"`
}

// GetConditions returns the conditions of the object, for Cluster API's condition helpers.
func (c *ElementalCluster) GetConditions() []metav1.Condition {
	return withReasons(c.Status.Conditions)
}

// SetConditions replaces the conditions of the object.
func (c *ElementalCluster) SetConditions(conditions []metav1.Condition) {
	c.Status.Conditions = conditions
}

// ElementalClusterList is a list of ElementalCluster.
//
// +kubebuilder:object:root=true
type ElementalClusterList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []ElementalCluster `json:"items"`
}
