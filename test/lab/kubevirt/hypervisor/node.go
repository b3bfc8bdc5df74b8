// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package hypervisor

import (
	"context"
	"encoding/json"
	"fmt"
	"runtime"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	kubevirtv1 "kubevirt.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const (
	// heartbeat is virt-handler's; virt-controller marks a node unschedulable for guests after 5
	// minutes without one.
	heartbeat = time.Minute
	// retryHeartbeat is the delay after a failure, such as a Node that does not exist yet.
	retryHeartbeat = time.Second
	// cpuModel of all hosts.
	cpuModel = "Skylake-Client"
)

// machineType is what a guest requests, and machine what it gets.
func machineType() (machineType, machine string) {
	switch runtime.GOARCH {
	case "arm64":
		return "virt", "virt-rhel9.6.0"
	default:
		return "q35", "pc-q35-rhel9.6.0"
	}
}

// beat reports that virt-handler runs on the node, and which guests it can run. Source: KubeVirt
// 1.7, pkg/virt-handler/heartbeat, pkg/virt-handler/node-labeller.
func (h *Hypervisor) beat(ctx context.Context, node string) error {
	asked, got := machineType()
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{
		"labels": map[string]string{
			kubevirtv1.NodeSchedulable:                           "true",
			kubevirtv1.CPUManager:                                "false",
			kubevirtv1.HostModelCPULabel + cpuModel:              "true",
			kubevirtv1.CPUModelLabel + cpuModel:                  "true",
			kubevirtv1.SupportedHostModelMigrationCPU + cpuModel: "true",
			kubevirtv1.CPUModelVendorLabel + "Intel":             "true",
			kubevirtv1.SupportedMachineTypeLabel + asked:         "true",
			kubevirtv1.SupportedMachineTypeLabel + got:           "true",
		},
		"annotations": map[string]string{kubevirtv1.VirtHandlerHeartbeat: metav1.Now().UTC().Format(time.RFC3339)},
	}})
	if err != nil {
		return fmt.Errorf("encoding the heartbeat of node %s: %w", node, err)
	}
	handler, err := h.handlerOn(node)
	if err != nil {
		return fmt.Errorf("making the client of virt-handler on node %s: %w", node, err)
	}
	object := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: node}}
	if err := handler.Patch(ctx, object, client.RawPatch(types.StrategicMergePatchType, patch)); err != nil {
		return fmt.Errorf("patching node %s: %w", node, err)
	}
	return nil
}
