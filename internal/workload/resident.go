// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package workload

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
)

// Resident is a system of a workload cluster whose objects on a Node an upgrade has to care for besides evicting Pods. A
// cluster in which it is not installed has nothing of it, and every verb finds that by itself. Embedding Nothing is an
// implementation of all verbs for which it has nothing to do.
type Resident interface {
	// Name as it stands in messages.
	Name() string
	// Checks that it adds to the preflight, in the order in which they are reported.
	Checks() []Check
	// Read reads what the Checks look at; nil where it is not installed.
	Read(ctx context.Context, in Reading) (State, error)
	// Owns says of a Pod whether it goes the resident's own way, so that a drain leaves it out; nil if none does.
	Owns(ctx context.Context, in *Cluster) (func(*corev1.Pod) bool, error)
	// ServingPods select its Pods that serve volumes, which a drain evicts last.
	ServingPods() []clusterv1.MachineDrainRulePodSelector
	// RefusedBecause says for whose sake it keeps a PodDisruptionBudget that refuses to evict the Pods, as a part of a
	// message that begins with "; "; empty where it keeps none.
	RefusedBecause(ctx context.Context, in *Cluster, node string, pods []*corev1.Pod) (string, error)
	// Attached names its volumes that are attached to the Node although no Pod that stays there uses them, and that may be
	// without a VolumeAttachment. The Node does not go down before they are detached.
	Attached(ctx context.Context, in *Cluster, node string) ([]string, error)
	// Hold keeps it from making up elsewhere for what is on the attempt's Node, which is about to go down.
	Hold(ctx context.Context, in *Cluster, attempt string) error
	// Release takes the Hold of the attempt back, and those of attempts that are not living any more.
	Release(ctx context.Context, in *Cluster, attempt string, living Living) error
	// Unsettled says what is waited for until that on the Node is as good as it was before the Node went down, which was
	// after the moment; empty if nothing is.
	Unsettled(ctx context.Context, in *Cluster, node string, since time.Time) (waitFor string, err error)
}

// Living are the ids of the attempts of a cluster that have not ended.
type Living func(context.Context) ([]string, error)

// Nothing is all verbs of a Resident that has nothing on any Node.
type Nothing struct{}

// Checks are none.
func (Nothing) Checks() []Check { return nil }

// Read finds nothing.
func (Nothing) Read(context.Context, Reading) (State, error) { return nil, nil }

// Owns no Pod.
func (Nothing) Owns(context.Context, *Cluster) (func(*corev1.Pod) bool, error) { return nil, nil }

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
