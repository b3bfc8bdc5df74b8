// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package longhorn

import (
	"context"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/workload"
)

// Labels that Longhorn gives, and finds its own objects by: that of the node in spec.nodeID, which is written with it, and that of
// the volume. An engine may be on another node than its volume is attached to, so the first tells nothing of attached volumes.
// Source: longhorn-manager 1.3 to 1.9, datastore/longhorn.go (ListReplicasByNodeRO, ListVolumeEngines) and webhook/common/common.go.
const (
	nodeLabel   = "longhornnode"
	volumeLabel = "longhornvolume"
)

// namesPerCall is how many volumes one call names, whose address has to be of a usual length.
const namesPerCall = 100

// ReadOn reads Longhorn's volumes, without the replicas and the engines of those that have no replica on the node; nil if the
// cluster has no Longhorn. For that node, the answers are those of Read.
func ReadOn(ctx context.Context, in workload.Reading, node string) (*Snapshot, error) {
	volumes, here := []volume{}, []replica{}
	if installed, err := list(ctx, in, "Volume", &volumes); err != nil || !installed {
		return nil, err
	}
	if err := listOn(ctx, in, node, &here); err != nil {
		return nil, err
	}
	names := sets.New[string]()
	for _, found := range here {
		names.Insert(found.Spec.Volume)
	}
	replicas, engines := []replica{}, []engine{}
	for some := range slices.Chunk(sets.List(names), namesPerCall) {
		selected, err := ofVolumes(some)
		if err != nil {
			return nil, err
		}
		if _, err := list(ctx, in, "Replica", &replicas, selected); err != nil {
			return nil, err
		}
		if _, err := list(ctx, in, "Engine", &engines, selected); err != nil {
			return nil, err
		}
	}
	return assemble(volumes, replicas, engines).withHolders(ctx, in)
}

// listOn adds the replicas on a node. A node whose name is too long for a label has none: Longhorn could not store them.
func listOn(ctx context.Context, in workload.Reading, node string, into *[]replica) error {
	if len(validation.IsValidLabelValue(node)) > 0 {
		return nil
	}
	_, err := list(ctx, in, "Replica", into, client.MatchingLabels{nodeLabel: node})
	return err
}

func ofVolumes(names []string) (client.ListOption, error) {
	among, err := labels.NewRequirement(volumeLabel, selection.In, names)
	if err != nil {
		return nil, fmt.Errorf("selecting what is of Longhorn's volumes: %w", err)
	}
	return client.MatchingLabelsSelector{Selector: labels.NewSelector().Add(*among)}, nil
}

// attachedTo are the volumes that are in use on the node, without their replicas; found is false if the cluster has no Longhorn.
func attachedTo(ctx context.Context, in workload.Reading, node string) (attached []Volume, found bool, err error) {
	volumes := []volume{}
	if found, err = list(ctx, in, "Volume", &volumes); err != nil || !found {
		return nil, false, err
	}
	return assemble(volumes, nil, nil).AttachedTo(node), true, nil
}
