// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package hostupgrade

import (
	"context"
	"fmt"
	"time"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/sequence"
)

// What helps at steps that wait for what others have to let go, where the message does not say of one thing what clears it.
const (
	helpsEvacuation = "migrate or stop what is left, or set its label " + infrav1.VMPolicyLabel
	helpsDrain      = "scale up what is named, relax its PodDisruptionBudget, or delete its Pods"
	helpsVolumes    = "see kubectl describe volumeattachments, the CSI driver, and Longhorn's volumes"
)

// late is overdue for a step that may wait for what never comes: it says what helps, and how a user ends the wait.
func (o *observation) late(step string, timeout time.Duration, helps string) string {
	late := o.overdue(step, timeout)
	if late == "" {
		return ""
	}
	return late + fmt.Sprintf(": %s, or end the wait with kubectl --namespace %s patch ehu %s --type merge --patch '{\"spec\":{\"cancel\":true}}'",
		helps, o.upgrade.Namespace, o.upgrade.Name)
}

// settles reports whether nothing but the storage of a node that runs the OS and serves again is waited for. A cancel ends that wait, once it has taken its
// time, and undoes nothing.
func (o *observation) settles() bool {
	return o.upgrade.Status.Step == stepSettle && o.hostReport().Phase == infrav1.HostUpgradeSucceeded
}

// deferred runs a step of an end, and leaves what it waits for to awaitDeferred: what a user has to clear on one node keeps no slot from the others.
func deferred(s step) step {
	return step{Name: s.Name, Run: func(ctx context.Context, o *observation) (sequence.Result, error) {
		result, err := s.Run(ctx, o)
		if err == nil && !result.IsDone() && o.deferred == nil {
			o.deferred = &result
		}
		return sequence.Done(), err
	}}
}

// awaitDeferred waits for the first that was left, when nothing else is left to do.
func awaitDeferred(_ context.Context, o *observation) (sequence.Result, error) {
	if o.deferred != nil {
		return *o.deferred, nil
	}
	return sequence.Done(), nil
}
