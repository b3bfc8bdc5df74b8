// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package pausing

import (
	"fmt"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
)

// Remedy says that a node is paused and how it is resumed.
func Remedy(node, upgrade string) string {
	return fmt.Sprintf("Node %s is paused: remove its annotation %s, or set spec.approved of ElementalHostUpgrade %s", node, infrav1.NodeUpgradePauseAnnotation, upgrade)
}
