// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package kubevirt

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	kubevirtv1 "kubevirt.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
)

// halt stops a virtual machine by its VirtualMachine, which remembers how it was. A VirtualMachine that has changed
// since it was read is looked at again in the next pass.
func (p *pass) halt(ctx context.Context, decision *Decision) error {
	vm := p.machineOf(p.instance(decision))
	if vm == nil {
		return nil
	}
	before := vm.DeepCopy()
	field, value := turnOff(vm)
	state := &powerState{
		Attempt: p.Attempt, Node: p.Node.Name, Field: field, Value: value, Policy: infrav1.VMPolicy(decision.Decision), Reason: decision.Reason,
	}
	if err := state.write(vm); err != nil {
		return err
	}
	err := patchMachine(ctx, p.Client, before, vm)
	if isRefused(err) {
		*decision = decision.holds("cannot be shut down: " + err.Error())
		return nil
	}
	return ignoreChanged(err)
}

// delete stops a virtual machine that nothing starts again.
func (p *pass) delete(ctx context.Context, decision *Decision) error {
	vmi := p.instance(decision)
	err := write(ctx, func(ctx context.Context) error {
		return p.Client.Delete(ctx, vmi, client.Preconditions{UID: &vmi.UID})
	})
	if isRefused(err) {
		*decision = decision.holds("cannot be deleted: " + err.Error())
		return nil
	}
	return ignoreChanged(err)
}

// patchMachine writes a VirtualMachine with the resourceVersion that was read: a person who starts or stops it at the
// same moment wins.
func patchMachine(ctx context.Context, c client.Client, before, after *kubevirtv1.VirtualMachine) error {
	return write(ctx, func(ctx context.Context) error {
		err := c.Patch(ctx, after, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{}))
		if err != nil {
			return fmt.Errorf("writing VirtualMachine %s: %w", keyOf(before), err)
		}
		return nil
	})
}

// ignoreChanged drops the error that says that an object has changed, or gone, since it was read.
func ignoreChanged(err error) error {
	if apierrors.IsConflict(err) || apierrors.IsNotFound(err) {
		return nil
	}
	return err
}
