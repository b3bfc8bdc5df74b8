// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package audit

import (
	"encoding/json"
	"slices"

	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/hoststate"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/osversion"
)

// Triggered returns the intervals in which each ElementalHost was upgrading: from the label that triggers the
// upgrade until the host reports how that ended. The label may remain until the attempt is withdrawn.
func Triggered(events []auditv1.Event) map[string][]Interval {
	return intervals(events, func(event auditv1.Event) *sight {
		host := writtenHost(event)
		if host == nil {
			return nil
		}
		return &sight{name: host.Name, version: host.ResourceVersion, holds: func() bool {
			report := hoststate.CurrentStatus(host)
			return host.Labels[infrav1.InPlaceUpgradeLabel] == infrav1.InPlaceUpgradePending && (report == nil || !hoststate.Ended(report.Phase))
		}}
	})
}

func writtenHost(event auditv1.Event) *infrav1.ElementalHost {
	ref := event.ObjectRef
	if ref == nil || ref.Resource != "elementalhosts" || !IsWrite(event) || !Succeeded(event) || event.ResponseObject == nil {
		return nil
	}
	host := &infrav1.ElementalHost{}
	if err := json.Unmarshal(event.ResponseObject.Raw, host); err != nil || host.Kind != "ElementalHost" {
		return nil
	}
	return host
}

// TriggeredFor lists the ElementalHosts that were ever triggered for an attempt with the image, sorted. Others may have fetched it.
func TriggeredFor(events []auditv1.Event, imageURI string) []string {
	hosts := []string{}
	for i := range events {
		host := writtenHost(events[i])
		if host == nil || host.Spec.Upgrade == nil || host.Labels[infrav1.InPlaceUpgradeLabel] != infrav1.InPlaceUpgradePending {
			continue
		}
		version, err := osversion.Decode(host.Spec.Upgrade.OSVersionManagement)
		if err == nil && version.ImageURI == imageURI {
			hosts = append(hosts, host.Name)
		}
	}
	slices.Sort(hosts)
	return slices.Compact(hosts)
}
