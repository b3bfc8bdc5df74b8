// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package v1beta1

import "k8s.io/apimachinery/pkg/types"

// LocalReference names an object in the namespace of the one that refers to it. Its kind follows from the field.
// Version 0.7 also has apiVersion, kind and namespace here: they are accepted, and have no effect.
//
// +structType=atomic
// +kubebuilder:pruning:PreserveUnknownFields
type LocalReference struct {
	// name of the object.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name"`
	// uid that the object had when the reference was written; "clusterctl move" gives it another. Empty: the object is known by its name alone.
	// +optional
	UID types.UID `json:"uid,omitempty"`
}

// SecretReference names a Secret in the namespace of the object that refers to it. Version 0.7 also has apiVersion, kind and namespace here: they
// are accepted, and have no effect.
//
// +structType=atomic
// +kubebuilder:pruning:PreserveUnknownFields
type SecretReference struct {
	// name of the Secret.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name"`
}
