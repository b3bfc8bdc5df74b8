// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package scenario

import (
	"cmp"
	"context"
	"fmt"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/kubevirt/vm"
)

// CreateVM makes a virtual machine on the workload cluster and waits until it runs, where it is preferred to if there is
// room.
func (c *Cluster) CreateVM(ctx context.Context, spec vm.Spec) (vm.State, error) {
	machine, err := vm.Create(ctx, c.WorkloadKube(), spec)
	if err != nil {
		return vm.State{}, err
	}
	return c.AwaitVM(ctx, client.ObjectKeyFromObject(machine), cmp.Or(spec.Require, spec.Prefer))
}

// AwaitVM waits until a virtual machine runs on a node; on any if it is empty.
func (c *Cluster) AwaitVM(ctx context.Context, key client.ObjectKey, node string) (vm.State, error) {
	state := vm.State{}
	err := Await(ctx, fmt.Sprintf("virtual machine %s to run", key), createTimeout, func(ctx context.Context) (string, error) {
		var err error
		state, err = vm.Look(ctx, c.WorkloadKube(), key)
		isThere := state.Running() && (node == "" || state.Node == node)
		return unless(isThere, "it is %q on node %q", state.Phase, state.Node), err
	})
	return state, err
}

// VM is what has become of a virtual machine.
func (c *Cluster) VM(ctx context.Context, key client.ObjectKey) (vm.State, error) {
	return vm.Look(ctx, c.WorkloadKube(), key)
}
