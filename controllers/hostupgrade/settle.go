// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package hostupgrade

import (
	"context"
	"strings"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/sequence"
)

// settle holds the slot until the node's storage is healthy again.
func (r *Reconciler) settle(ctx context.Context, o *observation) (sequence.Result, error) {
	failing, err := o.workload.AttachErrors(ctx, o.node.Name)
	if err != nil {
		return sequence.Result{}, err
	}
	if len(failing) == 0 {
		return sequence.Done(), nil
	}
	return sequence.Wait(pollPods, "volumes cannot be attached to Node %s: %s%s", o.node.Name,
		strings.Join(failing, ", "), o.overdue(stepSettle, o.options.Timeouts.Settle.Duration)), nil
}
