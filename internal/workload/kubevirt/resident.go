// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package kubevirt

import (
	"context"

	corev1 "k8s.io/api/core/v1"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/workload"
)

// Resident is KubeVirt as an upgrade of a Node meets it.
type Resident struct{ workload.Nothing }

var _ workload.Resident = Resident{}

// Name is that of the project.
func (Resident) Name() string { return "KubeVirt" }

// Owns the Pods of virtual machines: they are evacuated, each as was decided for it, and an eviction that KubeVirt does not
// know of stops a guest.
func (r Resident) Owns(ctx context.Context, in *workload.Cluster) (func(*corev1.Pod) bool, error) {
	if installed, err := r.Present(ctx, in, nil); err != nil || !installed {
		return nil, err
	}
	return OwnsPod, nil
}

// Evacuation of the Node of a cluster.
func (Resident) Evacuation(in *workload.Cluster, e Evacuation) Evacuation {
	e.Client, e.Nodes, e.Pods = in.Live(), in.CachedNodes, &knownOf(in).pods
	if config := in.Config(); config != nil {
		e.Canceller = NewCanceller(config)
	}
	return e
}
