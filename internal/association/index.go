// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package association

import (
	"context"
	"fmt"

	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/hoststate"
)

// Field indexes of the manager's cache. They contain references to objects, not copies.
const (
	// FreeHostIndex finds the ElementalHosts that can be claimed; its one value is FreeHost.
	FreeHostIndex = "elemental.free"
	// HostMachineIndex finds ElementalHosts by the name of the ElementalMachine in spec.machineRef.
	HostMachineIndex = "spec.machineRef.name"
	// HostRegistrationIndex finds ElementalHosts by the name of the ElementalRegistration through which they registered.
	HostRegistrationIndex = "elemental.registration"
	// WaitingMachineIndex finds the ElementalMachines without a host; its one value is WaitingMachine.
	WaitingMachineIndex = "elemental.waiting"
	// MachineHostIndex finds ElementalMachines by the name of the ElementalHost in spec.hostRef.
	MachineHostIndex = "spec.hostRef.name"
)

// Values of the boolean indexes.
const (
	FreeHost       = "true"
	WaitingMachine = "true"
)

// AddIndexes adds the indexes of this package to a cache that has not been started.
func AddIndexes(ctx context.Context, indexer client.FieldIndexer) error {
	indexes := []struct {
		object client.Object
		field  string
		values client.IndexerFunc
	}{
		{&infrav1.ElementalHost{}, FreeHostIndex, indexFreeHost},
		{&infrav1.ElementalHost{}, HostMachineIndex, indexHostMachine},
		{&infrav1.ElementalHost{}, HostRegistrationIndex, indexHostRegistration},
		{&infrav1.ElementalMachine{}, WaitingMachineIndex, indexWaitingMachine},
		{&infrav1.ElementalMachine{}, MachineHostIndex, indexMachineHost},
	}
	for _, index := range indexes {
		if err := indexer.IndexField(ctx, index.object, index.field, index.values); err != nil {
			return fmt.Errorf("indexing %T by %s: %w", index.object, index.field, err)
		}
	}
	return nil
}

func indexFreeHost(object client.Object) []string {
	if host, ok := object.(*infrav1.ElementalHost); ok && hoststate.Free(host) {
		return []string{FreeHost}
	}
	return nil
}

func indexHostMachine(object client.Object) []string {
	if host, ok := object.(*infrav1.ElementalHost); ok && host.Spec.MachineRef != nil {
		return []string{host.Spec.MachineRef.Name}
	}
	return nil
}

func indexHostRegistration(object client.Object) []string {
	return []string{object.GetAnnotations()[infrav1.RegistrationNameAnnotation]}
}

func indexWaitingMachine(object client.Object) []string {
	machine, ok := object.(*infrav1.ElementalMachine)
	if ok && machine.Spec.HostRef == nil && machine.DeletionTimestamp.IsZero() {
		return []string{WaitingMachine}
	}
	return nil
}

func indexMachineHost(object client.Object) []string {
	if machine, ok := object.(*infrav1.ElementalMachine); ok && machine.Spec.HostRef != nil {
		return []string{machine.Spec.HostRef.Name}
	}
	return nil
}
