// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"kubevirt.io/kubevirt/pkg/virt-operator/resource/generate/components"
)

// Images are never pulled.
const (
	registry = "quay.io/kubevirt"
	version  = "v1.7.0"
)

// handler is the DaemonSet virt-handler: its Pods are looked at, and nothing runs in them.
func handler() *appsv1.DaemonSet {
	const verbosity = "2"
	return components.NewHandlerDaemonSet(namespace, registry, "", version, version, version, version, "", "", "", "", "", "", "",
		corev1.PullIfNotPresent, nil, nil, verbosity, nil, false)
}
