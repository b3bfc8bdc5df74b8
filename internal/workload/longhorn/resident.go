// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package longhorn

import (
	"context"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/workload"
)

const (
	// namespace is where Longhorn mostly is: all of it serves volumes.
	namespace = "longhorn-system"
	// componentLabel is on Longhorn's own Pods wherever they are, as instance and share managers.
	componentLabel  = "longhorn.io/component"
	instanceManager = "instance-manager"
)

// Resident is Longhorn as an upgrade of a Node meets it.
type Resident struct{ workload.Nothing }

var _ workload.Resident = Resident{}

// Name is that of the project.
func (Resident) Name() string { return "Longhorn" }

// ServingPods are all of Longhorn's.
func (Resident) ServingPods() []clusterv1.MachineDrainRulePodSelector {
	return []clusterv1.MachineDrainRulePodSelector{
		{NamespaceSelector: &metav1.LabelSelector{MatchLabels: map[string]string{corev1.LabelMetadataName: namespace}}},
		{Selector: &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{
			{Key: componentLabel, Operator: metav1.LabelSelectorOpExists},
		}}},
	}
}

// RefusedBecause names the volumes for whose sake Longhorn refuses to let its instance manager go.
func (Resident) RefusedBecause(ctx context.Context, in *workload.Cluster, node string, pods []*corev1.Pod) (string, error) {
	if !slices.ContainsFunc(pods, isInstanceManager) {
		return "", nil
	}
	snapshot, err := ReadOn(ctx, workload.Asking{Client: in.Live()}, node)
	if err != nil {
		return "", err
	}
	named := ""
	if volumes := snapshot.AttachedTo(node); len(volumes) > 0 {
		named += "; Longhorn volumes attached to Node " + node + ": " + Names(volumes)
	}
	if volumes := snapshot.LastHealthyOn(node); len(volumes) > 0 {
		named += "; Longhorn volumes whose last healthy replica is on Node " + node + ": " + Names(volumes)
	}
	return named, nil
}

func isInstanceManager(pod *corev1.Pod) bool { return pod.Labels[componentLabel] == instanceManager }

// Attached names the volumes with an engine on the Node. One can be without a VolumeAttachment of Kubernetes': by a person
// in Longhorn's UI, or for a share manager.
func (Resident) Attached(ctx context.Context, in *workload.Cluster, node string) ([]string, error) {
	volumes, found, err := attachedTo(ctx, workload.Asking{Client: in.Live()}, node)
	if err != nil || !found {
		return nil, err
	}
	inUse, err := in.ClaimsInUse(ctx, node)
	if err != nil {
		return nil, err
	}
	attached := []string{}
	for _, volume := range volumes {
		if !inUse.Has(volume.Claim) {
			attached = append(attached, volume.String())
		}
	}
	slices.Sort(attached)
	return attached, nil
}

// Hold keeps Longhorn from making replicas elsewhere while the Node is down.
func (Resident) Hold(ctx context.Context, in *workload.Cluster, attempt string) error {
	return HoldReplenishment(ctx, in.Live(), attempt)
}

// Release lets Longhorn make replicas elsewhere again, as soon as it did before.
func (Resident) Release(ctx context.Context, in *workload.Cluster, attempt string, living workload.Living) error {
	return ReleaseReplenishment(ctx, in.Live(), attempt, living)
}

// Unsettled names the volumes whose replicas on the Node are not rebuilt.
func (Resident) Unsettled(ctx context.Context, in *workload.Cluster, node string, since time.Time) (waitFor string, err error) {
	snapshot, err := ReadOn(ctx, workload.Asking{Client: in.Live()}, node)
	if err != nil {
		return "", err
	}
	unsettled := snapshot.Unsettled(node, since)
	if len(unsettled) == 0 {
		return "", nil
	}
	return "waiting for Longhorn to rebuild the replicas on Node " + node + " of volumes " + Names(unsettled), nil
}
