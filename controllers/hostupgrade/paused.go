// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package hostupgrade

import (
	"context"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
)

// letMove lets "clusterctl move" go on, which pauses the Cluster and then waits. It has to wait for one thing: a host that
// has been told to go, until it has said how that ended. Everything else of an attempt is found again by looking, on the
// cluster it was moved to.
// Source: clusterctl provider contract, "Move".
func (r *Reconciler) letMove(ctx context.Context, o *observation) error {
	if o.host == nil || o.rival != nil || o.labelled() && !o.isVoid() && !isHostEnd(o.hostReport().Phase) {
		return nil
	}
	return r.patchHost(ctx, o, "letting clusterctl move", func(host *infrav1.ElementalHost) {
		delete(host.Annotations, infrav1.BlockMoveAnnotation)
	})
}
