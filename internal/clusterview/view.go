// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package clusterview

import (
	"context"
	"fmt"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/association"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/existing"
)

// View of one Cluster. Each list, and the answer of each owner, is read when it is first asked for and kept: a View is for
// one reconcile and one goroutine.
type View struct {
	reader  client.Reader
	cluster client.ObjectKey

	machines   once[[]clusterv1.Machine]
	elementals once[[]infrav1.ElementalMachine]
	hosts      once[[]infrav1.ElementalHost]
	unfinished once[[]infrav1.ElementalHostUpgrade]
	wants      map[string]answer
	rollouts   map[string]*infrav1.ElementalRollout
	// firstAsked is the name of the ElementalMachine that was read by itself, and byName has all; see elementalOf.
	firstAsked string
	byName     map[string]*infrav1.ElementalMachine
}

// New looks at a Cluster, which need not exist, through a cache with the indexes of this package.
func New(cache client.Reader, cluster client.ObjectKey) *View {
	return &View{reader: cache, cluster: cluster}
}

// Machines of the Cluster, by its label, in no order.
func (v *View) Machines(ctx context.Context) ([]clusterv1.Machine, error) {
	return v.machines.get(func() ([]clusterv1.Machine, error) {
		found := &clusterv1.MachineList{}
		err := v.list(ctx, found, "Machines")
		return found.Items, err
	})
}

// ElementalMachines of the Cluster, by its label, in no order.
func (v *View) ElementalMachines(ctx context.Context) ([]infrav1.ElementalMachine, error) {
	return v.elementals.get(func() ([]infrav1.ElementalMachine, error) {
		found := &infrav1.ElementalMachineList{}
		err := v.list(ctx, found, "ElementalMachines")
		return found.Items, err
	})
}

// Hosts of the Cluster, by its label, in no order: those that serve its Machines, and those that are reserved for it.
func (v *View) Hosts(ctx context.Context) ([]infrav1.ElementalHost, error) {
	return v.hosts.get(func() ([]infrav1.ElementalHost, error) {
		found := &infrav1.ElementalHostList{}
		err := v.list(ctx, found, "ElementalHosts")
		return found.Items, err
	})
}

func (v *View) list(ctx context.Context, into client.ObjectList, what string) error {
	err := v.reader.List(ctx, into, client.InNamespace(v.cluster.Namespace), client.MatchingFields{ByCluster: v.cluster.Name}, client.UnsafeDisableDeepCopy)
	if err != nil {
		return fmt.Errorf("listing %s of Cluster %s: %w", what, v.cluster.Name, err)
	}
	return nil
}

// ElementalMachine of a name; nil if there is none.
func (v *View) ElementalMachine(ctx context.Context, name string) (*infrav1.ElementalMachine, error) {
	return existing.Get(ctx, v.reader, &infrav1.ElementalMachine{}, v.cluster.Namespace, name, client.UnsafeDisableDeepCopy)
}

// Host of a name; nil if there is none.
func (v *View) Host(ctx context.Context, name string) (*infrav1.ElementalHost, error) {
	return existing.Get(ctx, v.reader, &infrav1.ElementalHost{}, v.cluster.Namespace, name, client.UnsafeDisableDeepCopy)
}

// MachineOf is the Machine that owns an ElementalMachine; nil if there is none.
func (v *View) MachineOf(ctx context.Context, elemental *infrav1.ElementalMachine) (*clusterv1.Machine, error) {
	return existing.Get(ctx, v.reader, &clusterv1.Machine{}, v.cluster.Namespace, association.OwnerMachine(elemental), client.UnsafeDisableDeepCopy)
}

// once is what is read no more than once. What could not be read is tried again.
type once[T any] struct {
	known bool
	value T
}

func (o *once[T]) get(read func() (T, error)) (T, error) {
	if o.known {
		return o.value, nil
	}
	value, err := read()
	if err != nil {
		return o.value, err
	}
	o.known, o.value = true, value
	return value, nil
}
