// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package preflight

import (
	"context"
	"fmt"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// silentAfter is how long a kubelet, which renews its Lease every 10 seconds, may be behind the others before its node
// is not counted on. Kubernetes itself calls the Node unknown after 50 s, and an agent says nothing for as long as it has
// nothing new to say.
const silentAfter = 25 * time.Second

// readLeases lists those of all Nodes, and is only for a control plane node that is about to be disrupted: a cluster of 1,000
// nodes has as many, and each is renewed every 10 seconds.
func readLeases(ctx context.Context, live client.Reader, s *Snapshot) error {
	leases := &coordinationv1.LeaseList{}
	if err := live.List(ctx, leases, client.InNamespace(corev1.NamespaceNodeLease)); err != nil {
		return fmt.Errorf("listing the Leases of Nodes: %w", err)
	}
	s.Renewed = map[string]time.Time{}
	for i := range leases.Items {
		if renewed := leases.Items[i].Spec.RenewTime; renewed != nil {
			s.Renewed[leases.Items[i].Name] = renewed.Time
		}
	}
	return nil
}

// isSilent reports whether the kubelet of a node has fallen behind the newest sign of life of any. The nodes are compared
// with each other, because their clocks need not agree with ours. A node without a Lease is not known to be silent.
func (s *Snapshot) isSilent(node string) bool {
	renewed, found := s.Renewed[node]
	if !found {
		return false
	}
	newest := renewed
	for _, other := range s.Renewed {
		if other.After(newest) {
			newest = other
		}
	}
	return newest.Sub(renewed) > silentAfter
}
