// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package longhorn

import (
	"slices"
	"strings"
	"time"
)

// Robustness of a volume. It is known only while the volume is attached, but for Faulted.
// Source: longhorn-manager, k8s/pkg/apis/longhorn/v1beta2/volume.go.
const (
	Healthy  = "healthy"
	Degraded = "degraded"
	Faulted  = "faulted"
)

// Attached is the state of a volume that is in use on a node.
const Attached = "attached"

// Snapshot is Longhorn at one moment. A nil Snapshot is that of a cluster without Longhorn.
type Snapshot struct {
	// Volumes, by name.
	Volumes []Volume
	// Holders are the names of the nodes that Longhorn may place replicas on, by name; none where that is not known.
	Holders []string
}

// Volume of Longhorn.
type Volume struct {
	Name string
	// Claim is the PersistentVolumeClaim, as namespace/name; empty if there is none.
	Claim string
	// Wanted is how many replicas it is to have.
	Wanted int
	// State is Attached or another.
	State string
	// Robustness is Healthy, Degraded, Faulted or unknown.
	Robustness string
	// DegradedAt is since when it is degraded; zero if it is not, or that is not known.
	DegradedAt time.Time
	// Node that it is attached to; empty if it is not.
	Node string
	// Workloads that use it now, as "Kind name"; in a workload's own namespace, that of the claim.
	Workloads []string
	// Replicas that it has.
	Replicas []Replica
}

// Replica of a volume.
type Replica struct {
	Name string
	// Node that holds it.
	Node string
	// Healthy says that it has all of the volume's data.
	Healthy bool
	// Rebuilding says that it is being brought to that.
	Rebuilding bool
	// FailedAt is when it failed; zero if it has not.
	FailedAt time.Time
}

// String names the volume as a person knows it.
func (v Volume) String() string {
	if v.Claim == "" {
		return v.Name
	}
	return v.Name + " (PersistentVolumeClaim " + v.Claim + ")"
}

// InUse reports whether a virtual machine or another Pod uses the volume.
func (v Volume) InUse() bool { return len(v.Workloads) > 0 || v.State == Attached }

// Names joins the names of volumes.
func Names(volumes []Volume) string {
	names := make([]string, 0, len(volumes))
	for _, volume := range volumes {
		names = append(names, volume.String())
	}
	slices.Sort(names)
	return strings.Join(names, ", ")
}

// on are the replicas that a node holds.
func (v Volume) on(node string) []Replica {
	return slices.DeleteFunc(slices.Clone(v.Replicas), func(r Replica) bool { return r.Node != node })
}

// choose the volumes for which it is so.
func (s *Snapshot) choose(is func(Volume) bool) []Volume {
	if s == nil {
		return nil
	}
	var chosen []Volume
	for _, volume := range s.Volumes {
		if is(volume) {
			chosen = append(chosen, volume)
		}
	}
	return chosen
}
