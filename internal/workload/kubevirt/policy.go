// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package kubevirt

import (
	"fmt"

	kubevirtv1 "kubevirt.io/api/core/v1"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
)

// byPolicy decides on a virtual machine that is not migrated.
func (d *decider) byPolicy(vmi *kubevirtv1.VirtualMachineInstance, policy infrav1.VMPolicy, why string) Decision {
	vm := d.machineOf(vmi)
	switch {
	case policy != infrav1.VMPolicyShutdown && policy != infrav1.VMPolicyShutdownAndRestore:
		return *block(why)
	case vm != nil && vm.Status.SnapshotInProgress != nil:
		return *block("is not shut down while VirtualMachineSnapshot " + *vm.Status.SnapshotInProgress + " is taken (" + why + ")")
	case vm != nil && policy == infrav1.VMPolicyShutdown:
		return Decision{Decision: infrav1.VMShutdown, Reason: why, leaves: byHalting}
	case vm != nil:
		return Decision{Decision: infrav1.VMShutdownAndRestore, Reason: why, leaves: byHalting}
	case policy == infrav1.VMPolicyShutdown:
		return Decision{Decision: infrav1.VMShutdown, Reason: why + "; it has no VirtualMachine and is deleted", leaves: byDeletion}
	}
	return *block(why + "; it has no VirtualMachine that could start it again")
}

// policyOf is the policy that a label sets for this one; empty if none does.
func (d *decider) policyOf(vmi *kubevirtv1.VirtualMachineInstance) infrav1.VMPolicy {
	_, _, policy, _ := d.label(vmi)
	return policy
}

// label is the label that counts for a virtual machine: ours before Harvester's, and that of the VirtualMachine before
// that of the instance, which is as it was when it started.
func (d *decider) label(vmi *kubevirtv1.VirtualMachineInstance) (label, value string, policy infrav1.VMPolicy, err error) {
	labels := []map[string]string{vmi.Labels}
	if vm := d.machineOf(vmi); vm != nil {
		labels = []map[string]string{vm.Labels, vmi.Labels}
	}
	for _, set := range labels {
		if value, ok := set[infrav1.VMPolicyLabel]; ok {
			policy, err := parsePolicy(value)
			return infrav1.VMPolicyLabel, value, policy, err
		}
	}
	for _, set := range labels {
		if policy, ok := harvesterPolicies[set[infrav1.HarvesterMaintainModeLabel]]; ok {
			return infrav1.HarvesterMaintainModeLabel, set[infrav1.HarvesterMaintainModeLabel], policy, nil
		}
	}
	return "", "", "", nil
}

func parsePolicy(value string) (infrav1.VMPolicy, error) {
	switch policy := infrav1.VMPolicy(value); policy {
	case infrav1.VMPolicyBlock, infrav1.VMPolicyMigrate, infrav1.VMPolicyShutdown, infrav1.VMPolicyShutdownAndRestore:
		return policy, nil
	}
	return "", fmt.Errorf("label %s has the value %q: use Block, Migrate, Shutdown or ShutdownAndRestore", infrav1.VMPolicyLabel, value)
}

// harvesterPolicies are what the values of Harvester's label mean here. What Harvester restarts as soon as the node is
// empty comes back with the others here. Its Migrate is not what a person asks for: Harvester itself sets it.
var harvesterPolicies = map[string]infrav1.VMPolicy{
	infrav1.HarvesterShutdown:                       infrav1.VMPolicyShutdown,
	infrav1.HarvesterShutdownAndRestartAfterEnable:  infrav1.VMPolicyShutdownAndRestore,
	infrav1.HarvesterShutdownAndRestartAfterDisable: infrav1.VMPolicyShutdownAndRestore,
}
