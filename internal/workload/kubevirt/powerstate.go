// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package kubevirt

import (
	"encoding/json"
	"fmt"
	"strconv"

	kubevirtv1 "kubevirt.io/api/core/v1"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
)

// powerState is how a VirtualMachine was before it was stopped. It stands on the VirtualMachine, in
// VMPowerStateAnnotation, written by the same patch that stops it.
type powerState struct {
	// Attempt that stopped it, and the Node that it was stopped for.
	Attempt string `json:"attempt"`
	Node    string `json:"node"`
	// Field of the spec that was changed, and its value before.
	Field string `json:"field"`
	Value string `json:"value"`
	// Policy that it was stopped by, and why it was not migrated.
	Policy infrav1.VMPolicy `json:"policy"`
	Reason string           `json:"reason,omitempty"`
	// Starting says that the field is as it was and that only the start is missing.
	Starting bool `json:"starting,omitempty"`
}

// Fields of a VirtualMachine that decide whether it runs; KubeVirt allows one of them at a time.
const (
	fieldRunning     = "running"
	fieldRunStrategy = "runStrategy"
)

// stateOf reads the record; nil if there is none.
func stateOf(vm *kubevirtv1.VirtualMachine) (*powerState, error) {
	raw, ok := vm.Annotations[infrav1.VMPowerStateAnnotation]
	if !ok {
		return nil, nil
	}
	state := &powerState{}
	if err := json.Unmarshal([]byte(raw), state); err != nil {
		return nil, fmt.Errorf("VirtualMachine %s has an annotation %s that cannot be read: start it if it is to run, and remove the annotation and the label %s",
			keyOf(vm), infrav1.VMPowerStateAnnotation, infrav1.VMStoppedLabel)
	}
	return state, nil
}

func (p *powerState) decision() infrav1.VMDecision {
	if p.Policy == infrav1.VMPolicyShutdown {
		return infrav1.VMShutdown
	}
	return infrav1.VMShutdownAndRestore
}

// write puts the record on a VirtualMachine, with the label that it is found by.
func (p *powerState) write(vm *kubevirtv1.VirtualMachine) error {
	raw, err := json.Marshal(p)
	if err != nil {
		return fmt.Errorf("writing how VirtualMachine %s was: %w", keyOf(vm), err)
	}
	if vm.Annotations == nil {
		vm.Annotations = map[string]string{}
	}
	if vm.Labels == nil {
		vm.Labels = map[string]string{}
	}
	vm.Annotations[infrav1.VMPowerStateAnnotation] = string(raw)
	vm.Labels[infrav1.VMStoppedLabel] = "true"
	return nil
}

func forget(vm *kubevirtv1.VirtualMachine) {
	delete(vm.Annotations, infrav1.VMPowerStateAnnotation)
	delete(vm.Labels, infrav1.VMStoppedLabel)
}

// isOff reports whether a VirtualMachine is wanted off. Manual and RerunOnFailure are not: those may run.
func isOff(vm *kubevirtv1.VirtualMachine) bool {
	if vm.Spec.Running != nil {
		return !*vm.Spec.Running
	}
	return vm.Spec.RunStrategy == nil || *vm.Spec.RunStrategy == kubevirtv1.RunStrategyHalted
}

// turnOff switches a VirtualMachine off by the field that it uses, and returns that field and its value before.
func turnOff(vm *kubevirtv1.VirtualMachine) (field, value string) {
	if vm.Spec.Running != nil {
		value = strconv.FormatBool(*vm.Spec.Running)
		vm.Spec.Running = new(false)
		return fieldRunning, value
	}
	value = string(*vm.Spec.RunStrategy)
	vm.Spec.RunStrategy = new(kubevirtv1.RunStrategyHalted)
	return fieldRunStrategy, value
}

// isAsStopped reports whether the field is still as the stop left it. If not, somebody else has decided meanwhile.
func (p *powerState) isAsStopped(vm *kubevirtv1.VirtualMachine) bool {
	if p.Field == fieldRunning {
		return vm.Spec.Running != nil && !*vm.Spec.Running
	}
	return vm.Spec.RunStrategy != nil && *vm.Spec.RunStrategy == kubevirtv1.RunStrategyHalted
}

// giveBack sets the field to what it was.
func (p *powerState) giveBack(vm *kubevirtv1.VirtualMachine) {
	if p.Field == fieldRunning {
		vm.Spec.Running = new(p.Value == strconv.FormatBool(true))
		return
	}
	vm.Spec.RunStrategy = new(kubevirtv1.VirtualMachineRunStrategy(p.Value))
}
