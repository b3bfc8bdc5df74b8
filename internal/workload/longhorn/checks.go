// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package longhorn

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/sets"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/workload"
)

// Checks of Longhorn.
func (Resident) Checks() []workload.Check {
	return []workload.Check{workload.CheckOf("Volumes", true, checkVolumes)}
}

// Read reads Longhorn's volumes.
func (Resident) Read(ctx context.Context, in workload.Reading) (workload.State, error) {
	snapshot, err := Read(ctx, in)
	if snapshot == nil {
		return nil, err
	}
	return snapshot, nil
}

// Refreshed is as it was.
func (s *Snapshot) Refreshed(context.Context, workload.Reading) (workload.State, error) {
	return s, nil
}

// Jobs are none: a replica that is being rebuilt is a matter of Volumes.
func (s *Snapshot) Jobs() []workload.Job { return nil }

// checkVolumes judges the volumes that this very node endangers: what is amiss with others is no concern of its upgrade
// (Harvester issue 3134). Where no other node can hold a replica, none is asked for (Harvester issue 6425).
func checkVolumes(s *Snapshot, q workload.Question) []infrav1.PreflightResult {
	node := q.Node.Name
	degraded, single := s.DegradedOn(node), s.SingleReplicaOn(node)
	judging := judgment{node: node, holders: s.holders(q)}
	if !q.Admitted { // one that has its slot would wait for one that waits for it
		judging.down = q.Upgrading
	}
	found := []infrav1.PreflightResult{}
	for _, volume := range degraded {
		found = append(found, judging.degraded(volume)...)
	}
	for _, volume := range single {
		if !isAmong(volume, degraded) {
			found = append(found, judging.single(volume)...)
		}
	}
	for _, volume := range s.LastHealthyOn(node) {
		if !isAmong(volume, degraded) && !isAmong(volume, single) {
			found = append(found, judging.last(volume)...)
		}
	}
	return found
}

// holders are the nodes that can hold replicas. Where Longhorn does not say, any node of the cluster may.
func (s *Snapshot) holders(q workload.Question) []string {
	if len(s.Holders) > 0 {
		return s.Holders
	}
	nodes := []string{}
	for i := range q.Nodes {
		nodes = append(nodes, q.Nodes[i].Name)
	}
	return nodes
}

// judgment of volumes that a node endangers.
type judgment struct {
	node string
	// holders are the nodes that can hold replicas; none if that is not known.
	holders []string
	// down are the nodes that may go down meanwhile: their replicas do not count.
	down sets.Set[string]
}

// isOnly reports whether no other node can hold a replica of the volume.
func (j judgment) isOnly(volume Volume) bool {
	return len(j.holders) > 0 && slices.Equal(volume.places(j.holders), []string{j.node})
}

// goesDown warns that what uses a volume is down with the only node that can hold its replicas.
func (j judgment) goesDown(object string) []infrav1.PreflightResult {
	return workload.Warns(object, "can have replicas on Node "+j.node+" only, and what uses it is down until that is back")
}

func (j judgment) degraded(volume Volume) []infrav1.PreflightResult {
	object := "Volume/" + volume.String()
	others := slices.DeleteFunc(volume.healthyElsewhere(j.node), j.down.Has)
	switch {
	case j.isOnly(volume):
		return j.goesDown(object)
	case wantsTooMany(volume, j.holders) && len(others) > 0:
		return workload.Warns(object, fmt.Sprintf("wants %d replicas and %d nodes can hold one: while Node %s is down, its data is on Node %s only",
			volume.Wanted, len(volume.places(j.holders)), j.node, strings.Join(others, ", ")))
	}
	return workload.Blocks(object, "is degraded and has a replica on Node "+j.node+": wait until Longhorn has rebuilt it, or take what uses it out of service")
}

// single judges a volume that is meant to have one replica, and is in use.
func (j judgment) single(volume Volume) []infrav1.PreflightResult {
	object := "Volume/" + volume.String()
	if j.isOnly(volume) {
		return j.goesDown(object)
	}
	return workload.Blocks(object, "has its only replica on Node "+j.node+" and is in use: give it another replica, or stop what uses it")
}

// last judges a volume that nothing but the node has data of, and is neither degraded nor meant to be so.
func (j judgment) last(volume Volume) []infrav1.PreflightResult {
	object, message := "Volume/"+volume.String(), "has its only healthy replica on Node "+j.node
	switch {
	case !volume.InUse():
		return workload.Warns(object, message+" and cannot be attached while that is down")
	case j.isOnly(volume):
		return j.goesDown(object)
	}
	return workload.Blocks(object, message+": wait until Longhorn has rebuilt another, or stop what uses it")
}

func isAmong(volume Volume, volumes []Volume) bool {
	return slices.ContainsFunc(volumes, func(v Volume) bool { return v.Name == volume.Name })
}
