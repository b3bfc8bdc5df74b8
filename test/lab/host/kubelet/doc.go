// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

// Package kubelet simulates kubeadm and the kubelet of a lab host: it parses a kubeadm configuration as
// far as the Node needs it, registers the Node, and keeps its boot ID, OS, kubelet version, conditions
// and Lease up to date, as a kubelet does. Pods are simulated by kwok.
//
// These properties of a real kubelet are kept: the Node is registered when the kubelet starts, and not
// again when it is deleted; spec.providerID is not set; while the host is down only the Lease that is
// not renewed shows it, unless the host was shut down gracefully.
package kubelet
