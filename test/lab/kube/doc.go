// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

// Package kube runs a Kubernetes control plane as processes: etcd, kube-apiserver and, optionally,
// kube-controller-manager, kube-scheduler and kwok, which simulates the kubelets' handling of Pods.
package kube
