// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package preflight

import (
	"context"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/existing"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/observed"
)

// silentAfter is for how long a kubelet, which renews its Lease every 10 seconds, may not have renewed it before its node
// is not counted on. Kubernetes itself calls the Node unknown after 50 s, and an agent says nothing for as long as it has
// nothing new to say.
const silentAfter = 25 * time.Second

// Heartbeat is what is known of the Lease that a kubelet renews.
type Heartbeat int

const (
	// Beating is a kubelet that has renewed its Lease of late, or that has none: that says nothing.
	Beating Heartbeat = iota
	// Awaited is one of which that is not known yet: no renewal was seen, and it was not looked for long enough.
	Awaited
	// Silent is one that has not renewed its Lease for silentAfter.
	Silent
)

// leaseOf is the key of what was observed of the Lease of a Node.
type leaseOf struct {
	cluster client.ObjectKey
	node    string
}

// readLeases looks at those of the control plane's Nodes, one that is about to be disrupted among them. They are renewed by the clocks of
// the kubelets, which need not agree with each other's or ours. So, as Kubernetes does, it is seen that a Lease is renewed.
func (r *Reader) readLeases(ctx context.Context, from Sources, s *Snapshot) error {
	s.Heartbeats = map[string]Heartbeat{}
	for _, machine := range s.controlPlane() {
		name := machine.Status.NodeRef.Name
		if name == "" {
			continue
		}
		lease, err := existing.Get(ctx, from.Workload.Live(), &coordinationv1.Lease{}, corev1.NamespaceNodeLease, name)
		if err != nil {
			return err
		}
		if lease != nil && lease.Spec.RenewTime != nil {
			key := leaseOf{client.ObjectKeyFromObject(from.Cluster), name}
			s.Heartbeats[name] = heartbeat(r.renewals.Look(key, lease.Spec.RenewTime.UnixMicro(), from.Now), from.Now)
		}
	}
	return nil
}

// heartbeat judges the last renewal that was seen. One that came between two looks may have been as early as the first of them.
func heartbeat(renewal observed.Change, now time.Time) Heartbeat {
	switch {
	case now.Sub(renewal.Since) > silentAfter:
		return Silent
	case renewal.After.IsZero(), now.Sub(renewal.After) > silentAfter:
		return Awaited
	}
	return Beating
}
