// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

// Package rke2 has what this provider reads and changes of RKE2ControlPlanes, the control planes of CAPRKE2, Cluster API's provider
// for RKE2, whose own types cannot be had as a Go module. Objects of these types must be written by patches only: an update would
// remove the fields that they lack.
//
// Source: controlplane/api/v1beta2 of github.com/rancher/cluster-api-provider-rke2 v0.25.0.
//
// +kubebuilder:object:generate=true
// +groupName=controlplane.cluster.x-k8s.io
package rke2
