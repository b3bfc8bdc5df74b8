// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package kubevirt

import (
	"context"
	"fmt"

	kubevirtv1 "kubevirt.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/existing"
)

// SchedulableLabel is on every Node that virt-handler runs on, or ran.
const SchedulableLabel = kubevirtv1.NodeSchedulable

// Installed reports whether the API server knows virtual machines. A mapper that has seen them answers by itself; one
// that has not asks the API server again each time.
func Installed(_ context.Context, c client.Client) (bool, error) {
	_, err := c.RESTMapper().RESTMapping(kubevirtv1.VirtualMachineInstanceGroupVersionKind.GroupKind(), kubevirtv1.GroupVersion.Version)
	if existing.IsAbsent(err) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("looking for KubeVirt: %w", err)
	}
	return true, nil
}
