// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package audit

import (
	"encoding/json"
	"maps"
	"slices"

	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
)

// Slots returns the intervals in which each ElementalHostUpgrade of a Cluster held an upgrade slot.
func Slots(events []auditv1.Event, cluster string) map[string][]Interval {
	found := map[string][]Interval{}
	writes := slices.DeleteFunc(slices.Clone(events), func(event auditv1.Event) bool { return writtenCluster(event, cluster) == nil })
	for i := range writes {
		for _, slot := range writtenCluster(writes[i], cluster).Status.UpgradeSlots {
			if _, known := found[slot.Upgrade]; !known {
				maps.Copy(found, slotsOf(writes, cluster, slot.Upgrade))
			}
		}
	}
	return found
}

func slotsOf(writes []auditv1.Event, cluster, upgrade string) map[string][]Interval {
	return intervals(writes, func(event auditv1.Event) *sight {
		written := writtenCluster(event, cluster)
		return &sight{name: upgrade, version: written.ResourceVersion, holds: func() bool {
			return slices.ContainsFunc(written.Status.UpgradeSlots, func(s infrav1.UpgradeSlot) bool { return s.Upgrade == upgrade })
		}}
	})
}

func writtenCluster(event auditv1.Event, name string) *infrav1.ElementalCluster {
	ref := event.ObjectRef
	if ref == nil || ref.Resource != "elementalclusters" || ref.Name != name || !IsWrite(event) || !Succeeded(event) || event.ResponseObject == nil {
		return nil
	}
	cluster := &infrav1.ElementalCluster{}
	if err := json.Unmarshal(event.ResponseObject.Raw, cluster); err != nil || cluster.Kind != "ElementalCluster" {
		return nil
	}
	return cluster
}
