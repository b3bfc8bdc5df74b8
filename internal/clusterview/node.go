// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package clusterview

import (
	corev1 "k8s.io/api/core/v1"
)

// TrimNode takes away from a Node of a workload cluster, before it is cached, what nobody reads there. The images alone are
// most of it, and a manager caches the Nodes of all clusters.
func TrimNode(object any) (any, error) {
	node, isNode := object.(*corev1.Node)
	if !isNode {
		return object, nil
	}
	node.ManagedFields = nil
	node.Status.Images, node.Status.VolumesInUse, node.Status.VolumesAttached = nil, nil, nil
	return node, nil
}
