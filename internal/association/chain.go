// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package association

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
)

// Chain is a Machine, its ElementalMachine and the ElementalHost that serves it, all in one namespace. Each refers to the next and is
// referred to by it, so that write access to one of the three objects does not suffice to form a chain with the others.
type Chain struct {
	Machine   *clusterv1.Machine
	Elemental *infrav1.ElementalMachine
	Host      *infrav1.ElementalHost
}

// Broken is a missing reference in a chain. It may be temporary, while objects are created or moved.
type Broken struct {
	// Link says which reference is missing, for an operator.
	Link string
}

// Error is the link.
func (b *Broken) Error() string { return b.Link }

func broken(format string, args ...any) error { return &Broken{Link: fmt.Sprintf(format, args...)} }

// ChainOfMachine reads the chain of a Machine. Live must bypass the cache. The error is a *Broken if an object is missing or refers to
// another one.
func ChainOfMachine(ctx context.Context, live client.Reader, key client.ObjectKey) (*Chain, error) {
	machine, err := chained(ctx, live, &clusterv1.Machine{}, "Machine", key.Namespace, key.Name)
	if err != nil {
		return nil, err
	}
	ref := machine.Spec.InfrastructureRef
	if !NamesElementalMachine(ref) {
		return nil, broken("spec.infrastructureRef of Machine %s names no ElementalMachine, but %s %s", machine.Name, ref.Kind, ref.Name)
	}
	elemental, err := chained(ctx, live, &infrav1.ElementalMachine{}, "ElementalMachine", key.Namespace, ref.Name)
	if err != nil {
		return nil, err
	}
	if Recorded(elemental) == "" {
		return nil, broken("ElementalMachine %s has no ElementalHost", elemental.Name)
	}
	host, err := chained(ctx, live, &infrav1.ElementalHost{}, "ElementalHost", key.Namespace, Recorded(elemental))
	if err != nil {
		return nil, err
	}
	chain := &Chain{Machine: machine, Elemental: elemental, Host: host}
	return chain, chain.Check()
}

// ChainOfHost reads the chain of a host. Live must bypass the cache. The error is a *Broken if an object is missing or refers to another
// one.
func ChainOfHost(ctx context.Context, live client.Reader, key client.ObjectKey) (*Chain, error) {
	host, err := chained(ctx, live, &infrav1.ElementalHost{}, "ElementalHost", key.Namespace, key.Name)
	if err != nil {
		return nil, err
	}
	if host.Spec.MachineRef == nil {
		return nil, broken("ElementalHost %s serves no ElementalMachine", host.Name)
	}
	elemental, err := chained(ctx, live, &infrav1.ElementalMachine{}, "ElementalMachine", key.Namespace, host.Spec.MachineRef.Name)
	if err != nil {
		return nil, err
	}
	owner := OwnerMachine(elemental)
	if owner == "" {
		return nil, broken("ElementalMachine %s has no Machine among its owners", elemental.Name)
	}
	machine, err := chained(ctx, live, &clusterv1.Machine{}, "Machine", key.Namespace, owner)
	if err != nil {
		return nil, err
	}
	chain := &Chain{Machine: machine, Elemental: elemental, Host: host}
	return chain, chain.Check()
}

// chained reads one object of a chain; a *Broken if it does not exist.
func chained[T client.Object](ctx context.Context, live client.Reader, into T, kind, namespace, name string) (T, error) {
	err := live.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, into)
	if apierrors.IsNotFound(err) {
		return into, broken("%s %s does not exist", kind, name)
	}
	if err != nil {
		return into, fmt.Errorf("reading %s %s/%s: %w", kind, namespace, name, err)
	}
	return into, nil
}

// Check returns a *Broken unless each of the chain's objects, as read, refers to the next and is referred to by it.
func (c *Chain) Check() error {
	ref := c.Machine.Spec.InfrastructureRef
	switch {
	case !NamesElementalMachine(ref) || ref.Name != c.Elemental.Name:
		return broken("spec.infrastructureRef of Machine %s does not name ElementalMachine %s", c.Machine.Name, c.Elemental.Name)
	case OwnerMachine(c.Elemental) != c.Machine.Name:
		return broken("ElementalMachine %s does not have Machine %s among its owners", c.Elemental.Name, c.Machine.Name)
	case Recorded(c.Elemental) != c.Host.Name:
		return broken("ElementalMachine %s does not name ElementalHost %s", c.Elemental.Name, c.Host.Name)
	case Replaced(c.Host, c.Elemental):
		return broken("ElementalHost %s was registered again and is not known to be the host that serves ElementalMachine %s", c.Host.Name, c.Elemental.Name)
	case !Serves(c.Host, c.Elemental):
		return broken("ElementalHost %s does not serve ElementalMachine %s", c.Host.Name, c.Elemental.Name)
	}
	return nil
}

// OwnerMachine returns the name of the Machine among the owners of an ElementalMachine. UIDs are not compared, because `clusterctl move`
// changes them one object after the other.
func OwnerMachine(elemental *infrav1.ElementalMachine) string {
	for _, ref := range elemental.OwnerReferences {
		group, err := schema.ParseGroupVersion(ref.APIVersion)
		if err == nil && group.Group == clusterv1.GroupVersion.Group && ref.Kind == "Machine" {
			return ref.Name
		}
	}
	return ""
}

// NamesElementalMachine reports whether the spec.infrastructureRef of a Machine names an ElementalMachine, of any version.
func NamesElementalMachine(ref clusterv1.ContractVersionedObjectReference) bool {
	return ref.APIGroup == infrav1.GroupVersion.Group && ref.Kind == "ElementalMachine"
}

// NamesElementalCluster reports whether the spec.infrastructureRef of a Cluster names an ElementalCluster, of any version.
func NamesElementalCluster(ref clusterv1.ContractVersionedObjectReference) bool {
	return ref.APIGroup == infrav1.GroupVersion.Group && ref.Kind == "ElementalCluster"
}
