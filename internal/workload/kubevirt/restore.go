// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package kubevirt

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	kubevirtv1 "kubevirt.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/workload"
)

// Restoration of what was stopped for one Node.
type Restoration struct {
	workload.Restoration
	// Client reads and writes the workload cluster, without a cache.
	Client client.Client
}

// Restore brings back what was stopped, exactly as it was, and removes what an evacuation has left. It is one pass, and
// is repeated until it is done. A VirtualMachine that somebody has started, or changed, meanwhile is left as it is.
func Restore(ctx context.Context, r Restoration) (Progress, error) {
	vms := &kubevirtv1.VirtualMachineList{}
	if err := list(ctx, r.Client, vms, client.HasLabels{infrav1.VMStoppedLabel}); err != nil {
		return Progress{}, err
	}
	if err := r.tidy(ctx); err != nil {
		return undoing(err)
	}
	left, held := 0, []string{}
	for i := range vms.Items {
		done, reason, err := r.restore(ctx, &vms.Items[i])
		switch {
		case errors.Is(err, errUnanswered):
			return undoing(err)
		case err != nil:
			return Progress{}, err
		case reason != "":
			held = append(held, reason)
		case !done:
			left++
		}
	}
	return r.progress(left, held), nil
}

func (r Restoration) progress(left int, held []string) Progress {
	if len(held) > 0 {
		slices.Sort(held)
		return Progress{Progress: workload.Progress{Held: true, Message: shorten(held, "; ")}, Left: left + len(held)}
	}
	return Progress{Progress: workload.Progress{Done: left == 0, Message: fmt.Sprintf("starting %d virtual machines again", left)}, Left: left}
}

// tidy removes the migrations and the taint that an evacuation needed.
func (r Restoration) tidy(ctx context.Context) error {
	migrations := &kubevirtv1.VirtualMachineInstanceMigrationList{}
	if err := list(ctx, r.Client, migrations, client.HasLabels{infrav1.EvacuationLabel}); err != nil {
		return err
	}
	e := Evacuation{Evacuation: workload.Evacuation{Attempt: r.Attempt, Node: &corev1.Node{}}, Client: r.Client}
	e.Node.Name = r.NodeName
	for i := range migrations.Items {
		if e.made(&migrations.Items[i]) {
			if err := e.deleteMigration(ctx, &migrations.Items[i]); err != nil {
				return err
			}
		}
	}
	if r.Node == nil || r.Node.Annotations[infrav1.EvacuatedByAnnotation] == "" {
		return nil
	}
	kubeVirts := &kubevirtv1.KubeVirtList{}
	if err := list(ctx, r.Client, kubeVirts); err != nil {
		return err
	}
	var kubeVirt *kubevirtv1.KubeVirt
	if len(kubeVirts.Items) > 0 {
		kubeVirt = &kubeVirts.Items[0]
	}
	return untaint(ctx, r.Client, r.Node, kubeVirt)
}

// restore brings one VirtualMachine back. A reason says what a person has to do.
func (r Restoration) restore(ctx context.Context, vm *kubevirtv1.VirtualMachine) (done bool, reason string, err error) {
	state, err := stateOf(vm)
	switch {
	case !r.concerns(vm, state):
		return true, "", nil
	case err != nil:
		return false, err.Error(), nil
	case state.isStopping(vm) && r.Node != nil && workload.IsReady(r.Node):
		return false, "", nil
	}
	if state.Starting {
		if err := start(ctx, r.Client, vm); err != nil {
			return undone(vm, err)
		}
	}
	before := vm.DeepCopy()
	if err := r.settle(vm, state); err != nil {
		return false, "", err
	}
	if err := patchMachine(ctx, r.Client, before, vm); err != nil {
		return undone(vm, err)
	}
	return stateless(vm), "", nil
}

// concerns reports whether a VirtualMachine was stopped for this Node or by this attempt. Of a record that cannot be read
// that is told from what it contains.
func (r Restoration) concerns(vm *kubevirtv1.VirtualMachine, state *powerState) bool {
	if state != nil {
		return vm.DeletionTimestamp.IsZero() && (state.Node == r.NodeName || state.Attempt == r.Attempt)
	}
	raw := vm.Annotations[infrav1.VMPowerStateAnnotation]
	return r.NodeName != "" && strings.Contains(raw, r.NodeName) || r.Attempt != "" && strings.Contains(raw, r.Attempt)
}

// isStopping reports whether the guest has not ended that was told to. Given back meanwhile, these run strategies would
// leave it off: KubeVirt starts it only when the strategy changes, or a start is requested, while there is no instance.
// On a Node that is down it may never end.
func (p *powerState) isStopping(vm *kubevirtv1.VirtualMachine) bool {
	return !p.Starting && p.isAsStopped(vm) && vm.Status.Created &&
		(p.Value == string(kubevirtv1.RunStrategyManual) || p.Value == string(kubevirtv1.RunStrategyRerunOnFailure))
}

// settle makes a VirtualMachine what it was, or what it is to be from here on, and forgets the record with it. Only
// where another write has to follow, a record of that is left.
func (r Restoration) settle(vm *kubevirtv1.VirtualMachine, state *powerState) error {
	forget(vm)
	staysOff := state.Policy == infrav1.VMPolicyShutdown && !r.All && (!r.Others || state.Attempt == r.Attempt)
	if state.Starting || staysOff || !state.isAsStopped(vm) {
		return nil
	}
	state.giveBack(vm)
	if !state.needsStart() {
		return nil
	}
	state.Starting = true
	return state.write(vm)
}

// undone sorts the errors of a write: what has changed is looked at again, and what is refused is said.
func undone(vm *kubevirtv1.VirtualMachine, err error) (bool, string, error) {
	if isRefused(err) {
		return false, "VirtualMachine " + keyOf(vm) + " cannot be started again: " + err.Error() + keepOff(vm), nil
	}
	return false, "", ignoreChanged(err)
}

// keepOff is the part of a message that says how a user has a VirtualMachine that stays as it is not waited for.
func keepOff(vm *kubevirtv1.VirtualMachine) string {
	kubectl := "kubectl --namespace " + vm.Namespace
	return fmt.Sprintf("; to leave it off, %s annotate vm %s %s- and %s label vm %s %s-",
		kubectl, vm.Name, infrav1.VMPowerStateAnnotation, kubectl, vm.Name, infrav1.VMStoppedLabel)
}

func stateless(vm *kubevirtv1.VirtualMachine) bool {
	_, has := vm.Annotations[infrav1.VMPowerStateAnnotation]
	return !has
}

// needsStart reports whether the run strategy alone does not start it. It ran, or it would not have been stopped.
func (p *powerState) needsStart() bool {
	return p.Value == string(kubevirtv1.RunStrategyManual)
}

// start asks KubeVirt to start a VirtualMachine that starts on request only, as its start subresource does.
func start(ctx context.Context, c client.Client, vm *kubevirtv1.VirtualMachine) error {
	if vm.Status.Created || len(vm.Status.StateChangeRequests) > 0 || isOff(vm) {
		return nil
	}
	before := vm.DeepCopy()
	vm.Status.StateChangeRequests = []kubevirtv1.VirtualMachineStateChangeRequest{{Action: kubevirtv1.StartRequest}}
	return write(ctx, func(ctx context.Context) error {
		return c.Status().Patch(ctx, vm, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{}))
	})
}
