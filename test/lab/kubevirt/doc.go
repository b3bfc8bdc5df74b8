// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

// Package kubevirt installs KubeVirt on a workload cluster of the lab. What makes decisions about virtual machines is
// real: the unmodified virt-api with its eviction webhook and the start and stop subresources, and virt-controller with
// evacuation and migration, both as processes next to the API server. CRDs, roles and webhooks are those that
// KubeVirt's operator generates.
//
// Simulated are the operator (the KubeVirt object reports healthy until a test changes it; see operator.go) and what
// virt-handler and virt-launcher do on each host (package hypervisor). With Options.Operator the operator is real, too, and
// installs all else: its Pods, and those of virt-api and virt-controller, are processes (package pods).
package kubevirt
