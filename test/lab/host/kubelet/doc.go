// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

// Package kubelet stands for kubeadm and the kubelet of a lab host: it takes a kubeadm configuration
// apart as far as the Node needs it, registers the Node, and follows its host with it - boot id, OS,
// kubelet version, conditions, Lease - as a kubelet does. Pods are somebody else's (kwok).
//
// Of a real kubelet's habits these matter: the Node is registered when the kubelet starts and not again
// when somebody deletes it; spec.providerID is not set; while the host is down nothing says so but the
// Lease that is not renewed, unless the host was shut down in good order.
package kubelet
