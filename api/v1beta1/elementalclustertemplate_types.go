// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package v1beta1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
)

// ElementalClusterTemplateSpec holds the template.
type ElementalClusterTemplateSpec struct {
	// template from which a ClusterClass makes ElementalClusters.
	// +required
	Template ElementalClusterTemplateResource `json:"template"`
}

// ElementalClusterTemplateResource is the ElementalCluster to be made.
type ElementalClusterTemplateResource struct {
	// metadata of the ElementalClusters made.
	// +optional
	ObjectMeta clusterv1.ObjectMeta `json:"metadata,omitempty,omitzero"`
	// spec of the ElementalClusters made.
	// +optional
	Spec ElementalClusterSpec `json:"spec,omitempty,omitzero"`
}

// ElementalClusterTemplate is a template of ElementalClusters, for ClusterClasses. Its spec is
// immutable.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:path=elementalclustertemplates,scope=Namespaced,categories=cluster-api
// +kubebuilder:metadata:labels="cluster.x-k8s.io/v1beta2=v1beta1"
// +kubebuilder:printcolumn:name="Age",type="date",JSONPath=".metadata.creationTimestamp"
type ElementalClusterTemplate struct {
	metav1.TypeMeta `json:",inline"`

	// metadata of the object.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec is the desired state.
	// +required
	Spec ElementalClusterTemplateSpec `json:"spec"`
}

// ElementalClusterTemplateList is a list of ElementalClusterTemplate.
//
// +kubebuilder:object:root=true
type ElementalClusterTemplateList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []ElementalClusterTemplate `json:"items"`
}
