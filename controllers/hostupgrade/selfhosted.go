// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package hostupgrade

import (
	"context"

	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/workload"
)

// selfReboots is said while it can still be read: with its host this API is gone, and what happens there is seen only afterwards.
const selfReboots = "; this management cluster runs on it and is away while it reboots: the host goes on by itself, and this attempt once both are back"

// withSelf says of the only Node of a cluster what becomes of the management cluster, where that runs on it.
func (r *Reconciler) withSelf(ctx context.Context, o *observation) string {
	if o.workload == nil || o.node == nil || !workload.IsMarked(o.node, o.attempt) {
		return ""
	}
	runsHere, err := o.workload.Runs(ctx, r.Self, o.node.Name)
	switch {
	case err != nil: // it is a part of a message only
		ctrl.LoggerFrom(ctx).V(2).Info("Failed to find out whether this manager runs on the Node", "Node", klog.KRef("", o.node.Name), "reason", err.Error())
		return ""
	case runsHere:
		return selfReboots
	}
	return ""
}
