// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package clusterupgrade

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"time"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/clusterupgrade/window"
)

// GateKey identifies what gates are evaluated for: what is asked of the upgrade, its stage, the nodes that are done, and the window. With each of them
// the gates are evaluated again.
func (p *Plan) GateKey(now time.Time) string {
	parts := []string{fmt.Sprint(p.Upgrade.Generation), fmt.Sprint(p.Current(now))}
	if closes := window.Closes(p.windows, now); !closes.IsZero() && closes.Sub(now) < window.Farthest { // those that never close are no others each time
		parts = append(parts, written(closes))
	}
	for _, member := range p.Members() {
		if member.State == Done || member.State == Ended {
			parts = append(parts, member.Machine.Name)
		}
	}
	hash := sha256.Sum256([]byte(strings.Join(parts, "/")))
	return hex.EncodeToString(hash[:6])
}

// ClosedGate says which gate is closed, or not evaluated yet, according to the status; empty if all are open.
func (p *Plan) ClosedGate(now time.Time) string {
	key := p.GateKey(now)
	gates := slices.Clone(p.Upgrade.Spec.Gates)
	slices.SortStableFunc(gates, objectsFirst)
	for _, gate := range gates {
		at := slices.IndexFunc(p.Upgrade.Status.Gates, func(g infrav1.ClusterUpgradeGate) bool { return g.Name == gate.Name })
		if at < 0 || p.Upgrade.Status.Gates[at].Key != key {
			return fmt.Sprintf("gate %s is being evaluated", gate.Name)
		}
		if recorded := p.Upgrade.Status.Gates[at]; !recorded.Open {
			return SayClosed(gate.Name, recorded.Message)
		}
	}
	return ""
}

// objectsFirst is the order in which gates are evaluated: Jobs are not run while a gate with an object is closed.
func objectsFirst(a, b infrav1.UpgradeGate) int {
	switch {
	case (a.Object != nil) == (b.Object != nil):
		return 0
	case a.Object != nil:
		return -1
	}
	return 1
}

// SayClosed says that a gate is closed, and what can be done: it may be a Job that is still running.
func SayClosed(name, why string) string {
	return fmt.Sprintf("gate %s is closed: %s. It is evaluated again by itself, and may be changed in spec.gates of the ElementalClusterUpgrade", name, why)
}
