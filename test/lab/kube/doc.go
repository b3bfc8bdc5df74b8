// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

// Package kube runs a Kubernetes control plane as processes: etcd, kube-apiserver and, where they are
// asked for, kube-controller-manager, kube-scheduler and kwok, which plays the kubelets' part for Pods.
package kube
