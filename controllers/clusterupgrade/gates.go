// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package clusterupgrade

import (
	"context"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/clusterupgrade/gate"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/condition"
)

// gateRetry is how often a closed gate is evaluated. The manager watches nothing of what it is about.
const gateRetry = 10 * time.Second

// closedGate evaluates the gates, records the verdicts, and says which is closed; empty if all are open. While a node is in work those that have
// let it begin are not evaluated: what it disrupts may close them.
func (r *Reconciler) closedGate(ctx context.Context, o *observation) (string, error) {
	if len(o.upgrade.Spec.Gates) == 0 {
		o.upgrade.Status.Gates = nil
		return "", nil
	}
	if o.plan.ClosedGate(o.now) == "" && len(o.plan.InWork()) > 0 {
		return "", nil
	}
	key := o.plan.GateKey(o.now)
	verdicts, err := gate.Evaluator{Workload: r.Workload, Upgrade: o.upgrade, Now: o.now, Observed: &r.observed}.All(ctx, key)
	if err != nil {
		return "", err
	}
	o.recordGates(verdicts, key)
	return o.plan.ClosedGate(o.now), nil
}

// recordGates records verdicts, which are in the order of the specification.
func (o *observation) recordGates(verdicts []gate.Verdict, key string) {
	recorded := []infrav1.ClusterUpgradeGate{}
	for _, verdict := range verdicts {
		entry := infrav1.ClusterUpgradeGate{
			Name: verdict.Name, Open: verdict.Closed == "", Key: key, Message: condition.Message(verdict.Closed),
			LastTransitionTime: metav1.NewTime(o.now).Rfc3339Copy(),
		}
		former := slices.IndexFunc(o.upgrade.Status.Gates, func(g infrav1.ClusterUpgradeGate) bool {
			return g.Name == entry.Name && g.Open == entry.Open
		})
		if former >= 0 {
			entry.LastTransitionTime = o.upgrade.Status.Gates[former].LastTransitionTime
		}
		recorded = append(recorded, entry)
	}
	o.upgrade.Status.Gates = recorded
}
