// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package workload

import (
	"context"
	"slices"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/workload/longhorn"
)

// Longhorn reads Longhorn's volumes; nil if the cluster has no Longhorn.
func (c *Cluster) Longhorn(ctx context.Context) (*longhorn.Snapshot, error) {
	return longhorn.Read(ctx, c.live)
}

// HoldReplenishment keeps Longhorn from making replicas elsewhere while the attempt's Node is down.
func (c *Cluster) HoldReplenishment(ctx context.Context, attempt string) error {
	return longhorn.HoldReplenishment(ctx, c.live, attempt)
}

// ReleaseReplenishment takes that back; living are the attempts that may still hold it.
func (c *Cluster) ReleaseReplenishment(ctx context.Context, attempt string, living func(context.Context) ([]string, error)) error {
	return longhorn.ReleaseReplenishment(ctx, c.live, attempt, living)
}

// EnginesOn names Longhorn's volumes that are attached to the Node although no Pod that stays there uses them. One can
// be without a VolumeAttachment of Kubernetes': by a person in Longhorn's UI, or for a share manager.
func (c *Cluster) EnginesOn(ctx context.Context, node string) ([]string, error) {
	snapshot, err := c.Longhorn(ctx)
	if err != nil || snapshot == nil {
		return nil, err
	}
	inUse, err := c.claimsInUse(ctx, node)
	if err != nil {
		return nil, err
	}
	attached := []string{}
	for _, volume := range snapshot.AttachedTo(node) {
		if volume.Claim == "" || !inUse.Has(volume.Claim) {
			attached = append(attached, volume.String())
		}
	}
	slices.Sort(attached)
	return attached, nil
}

// nameGuarded names the volumes for whose sake Longhorn refuses to let its instance manager go, as a part of a message.
func (c *Cluster) nameGuarded(ctx context.Context, node string) (string, error) {
	snapshot, err := c.Longhorn(ctx)
	if err != nil {
		return "", err
	}
	named := ""
	if volumes := snapshot.AttachedTo(node); len(volumes) > 0 {
		named += "; Longhorn volumes attached to Node " + node + ": " + longhorn.Names(volumes)
	}
	if volumes := snapshot.LastHealthyOn(node); len(volumes) > 0 {
		named += "; Longhorn volumes whose last healthy replica is on Node " + node + ": " + longhorn.Names(volumes)
	}
	return named, nil
}
