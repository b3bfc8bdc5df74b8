// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package workload

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/workload/drainwatch"
)

// Nothing is all verbs of a Resident that has nothing on any Node.
type Nothing struct{}

// Checks are none.
func (Nothing) Checks() []Check { return nil }

// Read finds nothing.
func (Nothing) Read(context.Context, Reading) (State, error) { return nil, nil }

// Owns no Pod.
func (Nothing) Owns(context.Context, *Cluster) (func(*corev1.Pod) bool, error) { return nil, nil }

// NodeLabel is none.
func (Nothing) NodeLabel() string { return "" }

// Present is nothing.
func (Nothing) Present(context.Context, *Cluster, *corev1.Node) (bool, error) { return false, nil }

// CertainlyPresent is nothing.
func (Nothing) CertainlyPresent(context.Context, *Cluster, *corev1.Node) (bool, error) {
	return false, nil
}

// Leaving is nothing.
func (Nothing) Leaving() []drainwatch.Kind { return nil }

// Foresee knows of no virtual machines.
func (Nothing) Foresee(context.Context, *Cluster, []string, infrav1.VMPolicy) (map[string][]infrav1.VirtualMachineStatus, error) {
	return nil, nil
}

// Evacuate is done.
func (Nothing) Evacuate(context.Context, *Cluster, Evacuation) (Progress, error) {
	return Progress{Done: true}, nil
}

// Active is nothing.
func (Nothing) Active(context.Context, *Cluster, string) ([]string, error) { return nil, nil }

// Cancel is done.
func (Nothing) Cancel(context.Context, *Cluster, Evacuation) (Progress, error) {
	return Progress{Done: true}, nil
}

// Restore is done.
func (Nothing) Restore(context.Context, *Cluster, Restoration) (Progress, error) {
	return Progress{Done: true}, nil
}

// ServingPods are none.
func (Nothing) ServingPods() []clusterv1.MachineDrainRulePodSelector { return nil }

// RefusedBecause is empty.
func (Nothing) RefusedBecause(context.Context, *Cluster, string, []*corev1.Pod) (string, error) {
	return "", nil
}

// Attached are none.
func (Nothing) Attached(context.Context, *Cluster, string) ([]string, error) { return nil, nil }

// Hold does nothing.
func (Nothing) Hold(context.Context, *Cluster, string) error { return nil }

// Release does nothing.
func (Nothing) Release(context.Context, *Cluster, string, Living) error { return nil }

// Unsettled is nothing.
func (Nothing) Unsettled(context.Context, *Cluster, string, time.Time) (string, error) {
	return "", nil
}
