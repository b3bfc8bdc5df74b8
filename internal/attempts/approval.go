// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package attempts

import (
	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
)

// StepApprove is the step at which the node of an attempt can be paused.
const StepApprove = "Approve"

// WaitsForApproval reports whether an attempt waits for a person to resume its node.
func WaitsForApproval(upgrade *infrav1.ElementalHostUpgrade) bool {
	return !upgrade.Status.Phase.IsEnd() && upgrade.Status.Step == StepApprove
}
