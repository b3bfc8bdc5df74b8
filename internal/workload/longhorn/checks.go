// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package longhorn

import (
	"context"
	"slices"

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
// (Harvester issue 3134).
func checkVolumes(s *Snapshot, q workload.Question) []infrav1.PreflightResult {
	node := q.Node.Name
	degraded, single := s.DegradedOn(node), s.SingleReplicaOn(node)
	found := []infrav1.PreflightResult{}
	for _, volume := range degraded {
		found = append(found, workload.Blocks("Volume/"+volume.String(),
			"is degraded and has a replica on Node "+node+": wait until Longhorn has rebuilt it, or take what uses it out of service")...)
	}
	for _, volume := range single {
		if isAmong(volume, degraded) {
			continue
		}
		found = append(found, workload.Blocks("Volume/"+volume.String(),
			"has its only replica on Node "+node+" and is in use: give it another replica, or stop what uses it")...)
	}
	for _, volume := range s.LastHealthyOn(node) {
		if isAmong(volume, degraded) || isAmong(volume, single) {
			continue
		}
		found = append(found, judgeLast(volume, node)...)
	}
	return found
}

// judgeLast judges a volume that nothing but the node has data of, and is neither degraded nor meant to be so.
func judgeLast(volume Volume, node string) []infrav1.PreflightResult {
	object, message := "Volume/"+volume.String(), "has its only healthy replica on Node "+node
	if volume.InUse() {
		return workload.Blocks(object, message+": wait until Longhorn has rebuilt another, or stop what uses it")
	}
	return workload.Warns(object, message+" and cannot be attached while that is down")
}

func isAmong(volume Volume, volumes []Volume) bool {
	return slices.ContainsFunc(volumes, func(v Volume) bool { return v.Name == volume.Name })
}
