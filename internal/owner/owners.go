// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package owner

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/utils/clock"
	controlplanev1 "sigs.k8s.io/cluster-api/api/controlplane/kubeadm/v1beta2"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// +kubebuilder:rbac:groups=cluster.x-k8s.io,resources=machinedeployments,verbs=get;list;watch;patch
// +kubebuilder:rbac:groups=cluster.x-k8s.io,resources=machinesets,verbs=get;list;watch
// +kubebuilder:rbac:groups=cluster.x-k8s.io,resources=machines,verbs=get;list;watch;patch
// +kubebuilder:rbac:groups=controlplane.cluster.x-k8s.io,resources=kubeadmcontrolplanes,verbs=get;list;watch;patch

// Owners finds owners and changes their references.
type Owners struct {
	// Client reads from the cache and writes.
	Client client.Client
	// Live reads from the API server, for decisions that a stale read would get wrong.
	Live client.Reader
	// Clock determines the age of an object's last write.
	Clock clock.PassiveClock
}

// List returns the owners in a namespace that refer to an ElementalMachineTemplate, by kind and name, and those that
// this provider has paused, whatever they refer to now.
func (o *Owners) List(ctx context.Context, namespace string) ([]Owner, error) {
	deployments := &clusterv1.MachineDeploymentList{}
	if err := o.Client.List(ctx, deployments, client.InNamespace(namespace)); err != nil {
		return nil, fmt.Errorf("listing MachineDeployments: %w", err)
	}
	controlPlanes := &controlplanev1.KubeadmControlPlaneList{}
	if err := o.Client.List(ctx, controlPlanes, client.InNamespace(namespace)); err != nil && !meta.IsNoMatchError(err) {
		return nil, fmt.Errorf("listing KubeadmControlPlanes: %w", err)
	}
	all := make([]Owner, 0, len(deployments.Items)+len(controlPlanes.Items))
	for i := range controlPlanes.Items {
		all = append(all, ForKubeadmControlPlane(&controlPlanes.Items[i]))
	}
	for i := range deployments.Items {
		all = append(all, ForMachineDeployment(&deployments.Items[i]))
	}
	return usingTemplates(all), nil
}

func usingTemplates(all []Owner) []Owner {
	using := make([]Owner, 0, len(all))
	for _, candidate := range all {
		refers := TemplateName(candidate) != "" && candidate.Object().GetDeletionTimestamp().IsZero()
		if refers || PausedFor(candidate) != "" {
			using = append(using, candidate)
		}
	}
	sortOwners(using)
	return using
}

// Reload returns the current version of an owner from the API server.
func (o *Owners) Reload(ctx context.Context, stale Owner) (Owner, error) {
	key := client.ObjectKeyFromObject(stale.Object())
	var fresh Owner
	switch stale.Kind() {
	case MachineDeploymentKind:
		fresh = ForMachineDeployment(&clusterv1.MachineDeployment{})
	case KubeadmControlPlaneKind:
		fresh = ForKubeadmControlPlane(&controlplanev1.KubeadmControlPlane{})
	default:
		return nil, fmt.Errorf("reading %s: unknown kind of owner", Describe(stale))
	}
	if err := o.Live.Get(ctx, key, fresh.Object()); err != nil {
		return nil, fmt.Errorf("reading %s: %w", Describe(stale), err)
	}
	return fresh, nil
}

func sortOwners(owners []Owner) {
	slices.SortFunc(owners, func(a, b Owner) int {
		return cmp.Or(cmp.Compare(a.Kind(), b.Kind()), cmp.Compare(a.Object().GetName(), b.Object().GetName()))
	})
}
