// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package hypervisor

import (
	corev1 "k8s.io/api/core/v1"
	kubevirtv1 "kubevirt.io/api/core/v1"
)

// migratable is the condition LiveMigratable that the annotation asks for.
func migratable(guest *kubevirtv1.VirtualMachineInstance) kubevirtv1.VirtualMachineInstanceCondition {
	condition := kubevirtv1.VirtualMachineInstanceCondition{
		Type: kubevirtv1.VirtualMachineInstanceIsMigratable, Status: corev1.ConditionTrue,
	}
	if reason, asked := guest.Annotations[NotMigratable]; asked {
		condition.Status, condition.Reason, condition.Message = corev1.ConditionFalse, reason, message(reason)
	}
	return condition
}

// message that virt-handler writes for a reason. Source: KubeVirt 1.7, pkg/virt-handler/vm.go,
// calculateLiveMigrationCondition and what it calls.
func message(reason string) string {
	switch reason {
	case kubevirtv1.VirtualMachineInstanceReasonDisksNotMigratable:
		return "cannot migrate VMI: PVC disk is not shared, live migration requires that all PVCs must be shared (using ReadWriteMany access mode)"
	case kubevirtv1.VirtualMachineInstanceReasonInterfaceNotMigratable:
		return "cannot migrate VMI which does not use masquerade, bridge with kubevirt.io/allow-pod-bridge-network-live-migration VM annotation or a migratable plugin to connect to the pod network"
	case kubevirtv1.VirtualMachineInstanceReasonHostDeviceNotMigratable:
		return "VMI uses a PCI host devices"
	case kubevirtv1.VirtualMachineInstanceReasonSEVNotMigratable:
		return "VMI uses SEV"
	case kubevirtv1.VirtualMachineInstanceReasonTDXNotMigratable:
		return "VMI uses TDX"
	case kubevirtv1.VirtualMachineInstanceReasonPRNotMigratable:
		return "VMI uses SCSI persistent reservation"
	default:
		return "VMI cannot migrate"
	}
}
