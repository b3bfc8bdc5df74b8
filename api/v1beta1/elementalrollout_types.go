// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package v1beta1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// ElementalRolloutSpec is what a rollout has to keep, also when it is moved to another management cluster, which brings no status. Only
// imageDigest, stoppedBy, heldBy and completed change.
//
// +kubebuilder:validation:XValidation:rule="self.clusterName == oldSelf.clusterName && self.templateName == oldSelf.templateName && self.revision == oldSelf.revision",message="what is rolled out, and to which Cluster, is immutable: patch the ElementalMachineTemplate, which starts another rollout"
// +kubebuilder:validation:XValidation:rule="has(self.options) == has(oldSelf.options) && (!has(self.options) || self.options == oldSelf.options)",message="the rollout's options are immutable: change the Cluster's, which hold for the next rollout"
// +kubebuilder:validation:XValidation:rule="!has(oldSelf.completed) || !oldSelf.completed || has(self.completed) && self.completed",message="a rollout that is completed stays so: patch the ElementalMachineTemplate, which starts another rollout"
type ElementalRolloutSpec struct {
	// clusterName is the Cluster of the Machines.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	ClusterName string `json:"clusterName"`

	// templateName is the ElementalMachineTemplate whose content is rolled out.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	TemplateName string `json:"templateName"`

	// revision counts the rollouts of the template to the Cluster, from 1. The highest is the last one.
	// +required
	// +kubebuilder:validation:Minimum=1
	Revision int64 `json:"revision"`

	// osVersionManagement is the content: the OS of the template when the rollout began, with the image of its ManagedOSVersion.
	// +required
	OSVersionManagement OSVersionManagement `json:"osVersionManagement"`

	// options are the nodeUpgradeOption of the Cluster when the rollout began.
	// +optional
	Options NodeUpgradeOption `json:"options,omitempty,omitzero"`

	// imageDigest is what the first host has resolved the image to. All further hosts are pinned to it. Empty until a host has. The digest of an
	// ElementalClusterUpgrade takes its place.
	// +optional
	// +kubebuilder:validation:MaxLength=256
	ImageDigest string `json:"imageDigest,omitempty"`

	// stoppedBy names the ElementalHostUpgrade that has not ended well, or whose host is lost. No other node of the rollout takes a slot while it is set. The
	// controller sets and removes it: do not change it. Set for driver Direct only.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	StoppedBy string `json:"stoppedBy,omitempty"`

	// heldBy names the cancelled ElementalClusterUpgrade that keeps the nodes which have not started from starting. Remove it to let them start; another
	// ElementalClusterUpgrade to the same OS does so, too.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	HeldBy string `json:"heldBy,omitempty"`

	// completed says that all Machines had the OS once. To roll it out again is another rollout.
	// +optional
	Completed bool `json:"completed,omitempty"`
}

// ElementalRollout records one rollout of the content of an ElementalMachineTemplate to the Machines of a Cluster. The controller of
// ElementalMachineTemplates makes it, with a name that is not used again. The last one of a template and Cluster is kept.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:path=elementalrollouts,scope=Namespaced,categories=cluster-api,shortName=ero
// +kubebuilder:metadata:labels="cluster.x-k8s.io/v1beta2=v1beta1"
// +kubebuilder:selectablefield:JSONPath=".spec.templateName"
// +kubebuilder:printcolumn:name="Cluster",type="string",JSONPath=".spec.clusterName",description="Cluster of the Machines"
// +kubebuilder:printcolumn:name="Template",type="string",JSONPath=".spec.templateName",description="ElementalMachineTemplate whose content is rolled out"
// +kubebuilder:printcolumn:name="Revision",type="integer",JSONPath=".spec.revision",description="Number of the rollout of the template to the Cluster; the highest is the last"
// +kubebuilder:printcolumn:name="Image",type="string",JSONPath=".spec.osVersionManagement.osVersion.imageURI",description="OS image"
// +kubebuilder:printcolumn:name="Completed",type="boolean",JSONPath=".spec.completed",description="Whether all Machines had the OS"
// +kubebuilder:printcolumn:name="StoppedBy",type="string",JSONPath=".spec.stoppedBy",description="ElementalHostUpgrade that has not ended well, or whose host is lost"
// +kubebuilder:printcolumn:name="HeldBy",type="string",JSONPath=".spec.heldBy",description="Cancelled ElementalClusterUpgrade that holds its nodes; remove it to let them start"
// +kubebuilder:printcolumn:name="Digest",type="string",JSONPath=".spec.imageDigest",description="What the image was resolved to",priority=1
// +kubebuilder:printcolumn:name="Age",type="date",JSONPath=".metadata.creationTimestamp"
type ElementalRollout struct {
	metav1.TypeMeta `json:",inline"`

	// metadata of the object.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec is the desired state.
	// +required
	Spec ElementalRolloutSpec `json:"spec"`
}

// ElementalRolloutList is a list of ElementalRollout.
//
// +kubebuilder:object:root=true
type ElementalRolloutList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []ElementalRollout `json:"items"`
}
