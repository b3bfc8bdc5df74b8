// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package owner

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/clock"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/observed"
)

// +kubebuilder:rbac:groups=cluster.x-k8s.io,resources=machinedeployments,verbs=get;list;watch
// +kubebuilder:rbac:groups=cluster.x-k8s.io,resources=machinesets,verbs=get;list;watch
// +kubebuilder:rbac:groups=cluster.x-k8s.io,resources=machines,verbs=get;list;watch
// +kubebuilder:rbac:groups=controlplane.cluster.x-k8s.io,resources=kubeadmcontrolplanes;rke2controlplanes,verbs=get;list;watch

// Owners finds owners, and reads what they have under way.
type Owners struct {
	// Client reads from the cache, which has the index of this package.
	Client client.Client
	// Live reads from the API server, for decisions that a stale read would get wrong.
	Live client.Reader
	// Clock determines the age of an object's last write.
	Clock clock.PassiveClock
	// Observed is what was seen of objects that others have written, by the clocks of others. The zero value is ready.
	Observed observed.Changes

	absent absentKinds
}

// List returns the owners in a namespace that refer to an ElementalMachineTemplate and are not being deleted, by kind and name. They are the cache's own,
// and must not be changed.
func (o *Owners) List(ctx context.Context, namespace, template string) ([]Owner, error) {
	found := []Owner{}
	for _, kind := range controlPlaneKinds {
		controlPlanes, err := o.controlPlanes(ctx, kind, namespace)
		if err != nil {
			return nil, err
		}
		for _, candidate := range controlPlanes {
			if referredTo(candidate) == template {
				found = append(found, candidate)
			}
		}
	}
	deployments := &clusterv1.MachineDeploymentList{}
	err := o.Client.List(ctx, deployments, client.InNamespace(namespace), client.MatchingFields{byTemplate: template}, client.UnsafeDisableDeepCopy)
	if err != nil {
		return nil, fmt.Errorf("listing MachineDeployments: %w", err)
	}
	for i := range deployments.Items {
		found = append(found, ForMachineDeployment(&deployments.Items[i]))
	}
	slices.SortFunc(found, byName)
	return found, nil
}

// controlPlanes of a kind; none while its CRD is not installed.
func (o *Owners) controlPlanes(ctx context.Context, kind controlPlaneKind, namespace string) ([]ControlPlane, error) {
	if o.absent.isKnown(kind.name, o.Clock.Now()) {
		return nil, nil
	}
	list, found := kind.newList(), []ControlPlane{}
	err := o.Client.List(ctx, list, client.InNamespace(namespace), client.UnsafeDisableDeepCopy)
	if meta.IsNoMatchError(err) {
		o.absent.note(kind.name, o.Clock.Now())
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("listing %ss: %w", kind.name, err)
	}
	err = meta.EachListItem(list, func(object runtime.Object) error {
		if one, isObject := object.(client.Object); isObject {
			if controlPlane, isOne := ForControlPlane(one); isOne {
				found = append(found, controlPlane)
			}
		}
		return nil
	})
	return found, err
}

// Reload returns the current version of an owner from the API server.
func (o *Owners) Reload(ctx context.Context, stale Owner) (Owner, error) {
	key := client.ObjectKeyFromObject(stale.Object())
	var fresh Owner
	switch stale.Kind() {
	case MachineDeploymentKind:
		fresh = ForMachineDeployment(&clusterv1.MachineDeployment{})
	default:
		controlPlane, isOne := ForControlPlane(NewControlPlane(stale.Kind()))
		if !isOne {
			return nil, fmt.Errorf("reading %s: unknown kind of owner", Describe(stale))
		}
		fresh = controlPlane
	}
	if err := o.Live.Get(ctx, key, fresh.Object()); err != nil {
		return nil, fmt.Errorf("reading %s: %w", Describe(stale), err)
	}
	return fresh, nil
}

func byName(a, b Owner) int {
	return cmp.Or(cmp.Compare(a.Kind(), b.Kind()), cmp.Compare(a.Object().GetName(), b.Object().GetName()))
}
