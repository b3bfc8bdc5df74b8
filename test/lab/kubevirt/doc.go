// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

// Package kubevirt puts KubeVirt on a workload cluster of the lab. What decides about virtual machines is real: the
// unmodified virt-api with its eviction webhook and the subresources that start and stop, and virt-controller with
// evacuation and migration, both as processes beside the API server. CRDs, roles and webhooks are those that KubeVirt's
// operator generates.
//
// Played are the operator (the KubeVirt object says that all is well, until a test says otherwise; see operator.go) and
// what virt-handler and virt-launcher do on each host (package hypervisor).
package kubevirt
