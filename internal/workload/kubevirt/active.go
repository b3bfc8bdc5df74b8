// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package kubevirt

import (
	"context"
	"slices"

	kubevirtv1 "kubevirt.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Active names what of virtual machines runs on the Node: instances that have not ended, and Pods of others, as those
// that are starting or that are being migrated to the Node.
func Active(ctx context.Context, c client.Client, node string) ([]string, error) {
	instances := &kubevirtv1.VirtualMachineInstanceList{}
	if err := list(ctx, c, instances, client.MatchingLabels{kubevirtv1.NodeNameLabel: node}); err != nil {
		return nil, err
	}
	names := []string{}
	for i := range instances.Items {
		if !instances.Items[i].IsFinal() {
			names = append(names, "VirtualMachineInstance "+keyOf(&instances.Items[i]))
		}
	}
	if len(names) > 0 {
		slices.Sort(names)
		return names, nil
	}
	pods, err := launchers(ctx, c, node)
	for i := range pods {
		names = append(names, "Pod "+keyOf(&pods[i]))
	}
	return names, err
}
