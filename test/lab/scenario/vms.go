// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package scenario

import (
	"cmp"
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kubevirtv1 "kubevirt.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/kubevirt/vm"
)

// CreateVM creates a virtual machine on the workload cluster, once the node that it prefers can run it, and waits until
// it runs.
func (c *Cluster) CreateVM(ctx context.Context, spec vm.Spec) (vm.State, error) {
	if spec.Prefer != "" {
		err := Await(ctx, "a node for virtual machine "+spec.Name, func(ctx context.Context) (string, error) {
			return vm.Unfit(ctx, c.WorkloadKube(), spec.Prefer)
		})
		if err != nil {
			return vm.State{}, err
		}
	}
	machine, err := vm.Create(ctx, c.WorkloadKube(), spec)
	if err != nil {
		return vm.State{}, err
	}
	return c.AwaitVM(ctx, client.ObjectKeyFromObject(machine), cmp.Or(spec.Require, spec.Prefer))
}

// AwaitVM waits until a virtual machine runs on a node, or on any if node is empty.
func (c *Cluster) AwaitVM(ctx context.Context, key client.ObjectKey, node string) (vm.State, error) {
	state := vm.State{}
	err := Await(ctx, fmt.Sprintf("virtual machine %s to run", key), func(ctx context.Context) (string, error) {
		var err error
		state, err = vm.Look(ctx, c.WorkloadKube(), key)
		isThere := state.Running() && (node == "" || state.Node == node)
		return unless(isThere, "it is %q on node %q", state.Phase, state.Node), err
	})
	return state, err
}

// MoveVM migrates a virtual machine that runs elsewhere, and waits until it runs on the node. The scheduler chooses the
// target: node must be the one that the machine prefers, or the only other one.
func (c *Cluster) MoveVM(ctx context.Context, key client.ObjectKey, node string) error {
	state, err := c.VM(ctx, key)
	if err != nil || state.Running() && state.Node == node {
		return err
	}
	migration := &kubevirtv1.VirtualMachineInstanceMigration{
		ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, GenerateName: key.Name + "-"},
		Spec:       kubevirtv1.VirtualMachineInstanceMigrationSpec{VMIName: key.Name},
	}
	if err := c.WorkloadKube().Create(ctx, migration); err != nil {
		return fmt.Errorf("migrating virtual machine %s: %w", key, err)
	}
	if _, err := c.AwaitVM(ctx, key, node); err != nil {
		return err
	}
	return Await(ctx, fmt.Sprintf("the migration of virtual machine %s to end", key), func(ctx context.Context) (string, error) {
		err := c.WorkloadKube().Get(ctx, client.ObjectKeyFromObject(migration), migration)
		return unless(migration.IsFinal(), "it is %q", migration.Status.Phase), client.IgnoreNotFound(err)
	})
}

// VM is the state of a virtual machine.
func (c *Cluster) VM(ctx context.Context, key client.ObjectKey) (vm.State, error) {
	return vm.Look(ctx, c.WorkloadKube(), key)
}
