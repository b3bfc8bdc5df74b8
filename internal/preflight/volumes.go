// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package preflight

import (
	"context"
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/workload/longhorn"
)

func readLonghorn(ctx context.Context, in *optional, s *Services) error {
	_, found, err := in.find(schema.GroupKind{Group: longhorn.Group, Kind: "Volume"})
	if err != nil || !found {
		return err
	}
	s.Longhorn, err = longhorn.Read(ctx, in.Client)
	return err
}

// checkVolumes judges the volumes that this very node endangers: what is amiss with others is no concern of its upgrade
// (Harvester issue 3134).
func checkVolumes(s *Snapshot, subject *Subject) []infrav1.PreflightResult {
	node := subject.Node.Name
	degraded, single := s.Longhorn.DegradedOn(node), s.Longhorn.SingleReplicaOn(node)
	found := []infrav1.PreflightResult{}
	for _, volume := range degraded {
		found = append(found, block("Volume/"+volume.String(),
			"is degraded and has a replica on Node "+node+": wait until Longhorn has rebuilt it, or take what uses it out of service")...)
	}
	for _, volume := range single {
		if isAmong(volume, degraded) {
			continue
		}
		found = append(found, block("Volume/"+volume.String(),
			"has its only replica on Node "+node+" and is in use: give it another replica, or stop what uses it")...)
	}
	for _, volume := range s.Longhorn.LastHealthyOn(node) {
		if isAmong(volume, degraded) || isAmong(volume, single) {
			continue
		}
		found = append(found, judgeLast(volume, node)...)
	}
	return found
}

// judgeLast judges a volume that nothing but the node has data of, and is neither degraded nor meant to be so.
func judgeLast(volume longhorn.Volume, node string) []infrav1.PreflightResult {
	object, message := "Volume/"+volume.String(), "has its only healthy replica on Node "+node
	if volume.InUse() {
		return block(object, message+": wait until Longhorn has rebuilt another, or stop what uses it")
	}
	return warn(object, message+" and cannot be attached while that is down")
}

func isAmong(volume longhorn.Volume, volumes []longhorn.Volume) bool {
	return slices.ContainsFunc(volumes, func(v longhorn.Volume) bool { return v.Name == volume.Name })
}
