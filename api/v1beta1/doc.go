// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

// Package v1beta1 holds the API of the Elemental infrastructure provider: what an operator writes
// (clusters, machines, templates, registrations), what a host is (ElementalHost), and one attempt
// to bring one host to one OS version (ElementalHostUpgrade).
//
// Labels and annotations are in labels.go, condition types and reasons in conditions.go and event
// reasons in events.go; nothing else in the project spells them out.
//
// +kubebuilder:object:generate=true
// +groupName=infrastructure.cluster.x-k8s.io
package v1beta1
