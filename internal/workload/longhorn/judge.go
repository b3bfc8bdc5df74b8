// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package longhorn

import (
	"slices"
	"time"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/observed"
)

// LastHealthyOn are the volumes whose data would be out of reach without the node: all of their healthy replicas are on
// it. Those that have but one replica are among them.
func (s *Snapshot) LastHealthyOn(node string) []Volume {
	return s.choose(func(v Volume) bool {
		healthy := slices.DeleteFunc(slices.Clone(v.Replicas), func(r Replica) bool { return !r.Healthy })
		return len(healthy) > 0 && !slices.ContainsFunc(healthy, func(r Replica) bool { return r.Node != node })
	})
}

// DegradedOn are the degraded volumes that the node's going down makes worse: it holds a replica of theirs that is
// healthy, or is being rebuilt. A degraded volume that has nothing on the node but a failed replica is not endangered.
func (s *Snapshot) DegradedOn(node string) []Volume {
	return s.choose(func(v Volume) bool {
		return v.Robustness == Degraded && slices.ContainsFunc(v.on(node), func(r Replica) bool { return r.Healthy || r.Rebuilding })
	})
}

// SingleReplicaOn are the volumes that are meant to have one replica, have it on the node, and are in use: their users
// stand still while the node is down, wherever they run.
func (s *Snapshot) SingleReplicaOn(node string) []Volume {
	return s.choose(func(v Volume) bool { return v.Wanted == 1 && v.InUse() && len(v.on(node)) > 0 })
}

// AttachedTo are the volumes that are in use on the node.
func (s *Snapshot) AttachedTo(node string) []Volume {
	return s.choose(func(v Volume) bool { return v.State == Attached && v.Node == node })
}

// Unsettled are the volumes that are not yet as good as they were before the node went down, which was after the moment.
// Of a volume that had been degraded before already, no more is asked than that the node's own replica is back, unless
// that had failed before too: the node's upgrade does not wait for what it has not broken. Nor is more asked of a volume that wants more replicas
// than there are nodes for them: Longhorn calls it degraded anew whenever it is attached. The volumes that are detached
// are not waited for either, because Longhorn rebuilds nothing of them; if one is faulted by a replica that failed
// with the node, it is.
func (s *Snapshot) Unsettled(node string, since time.Time) []Volume {
	return s.choose(func(v Volume) bool {
		replicas := v.on(node)
		switch {
		case v.Robustness == Healthy: // what is left of a failed replica stays for as long as a day
			return false
		case len(replicas) == 0 || v.State != Attached && v.Robustness != Faulted:
			return false
		case v.Robustness == Degraded && !before(v.DegradedAt, since) && !wantsTooMany(v, s.Holders):
			return true
		}
		return slices.ContainsFunc(replicas, func(r Replica) bool { return !r.Healthy && !before(r.FailedAt, since) })
	})
}

// wantsTooMany reports whether a volume wants more replicas than there are nodes that can hold one each, so that it stays degraded. Where no node is
// known, it does not.
func wantsTooMany(v Volume, holders []string) bool {
	return len(holders) > 0 && v.Wanted > len(v.places(holders))
}

// places are the nodes that can hold a replica of the volume, by name: those of the holders, and those that have one.
func (v Volume) places(holders []string) []string {
	nodes := slices.Clone(holders)
	for _, replica := range v.Replicas {
		if replica.Node != "" {
			nodes = append(nodes, replica.Node)
		}
	}
	slices.Sort(nodes)
	return slices.Compact(nodes)
}

// healthyElsewhere are the other nodes that have all of a volume's data, by name.
func (v Volume) healthyElsewhere(node string) []string {
	nodes := []string{}
	for _, replica := range v.Replicas {
		if replica.Healthy && replica.Node != node {
			nodes = append(nodes, replica.Node)
		}
	}
	slices.Sort(nodes)
	return slices.Compact(nodes)
}

// before reports whether something is known to have been so before the moment. The one time is by the clock of the node on which Longhorn
// wrote it, and the other by ours: what may have been so later is waited for.
func before(at, moment time.Time) bool { return !at.IsZero() && at.Before(moment.Add(-observed.Skew)) }
