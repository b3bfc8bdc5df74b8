// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

// Package schema has Go types for controller-gen alone, for parts of the API whose Go types are open maps.
//
// +groupName=schema
// +versionName=v1
package schema

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
)

// Template makes controller-gen write a definition, of which only the schema of osVersionManagement is used.
type Template struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	OSVersionManagement OSVersionManagement `json:"osVersionManagement,omitempty"`
}

// OSVersionManagement is an infrav1.OSVersionManagement whose key "osVersion" has fields. Other keys are those of other OS plugins.
//
// +structType=atomic
// +kubebuilder:pruning:PreserveUnknownFields
type OSVersionManagement struct {
	// +kubebuilder:pruning:PreserveUnknownFields
	// +nullable
	OSVersion infrav1.OSVersion `json:"osVersion,omitempty"`
}
