// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package preflight

import (
	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/hoststate"
)

// checkOtherUpgrades keeps out of the way of upgrades that take no slot: those by hand, and other people's. Our own
// attempts on other hosts are counted by their slots. One that has taken its slot does not wait for other nodes any more.
func checkOtherUpgrades(s *Snapshot, subject *Subject) []infrav1.PreflightResult {
	found := []infrav1.PreflightResult{}
	judge := block
	if subject.Admitted {
		judge = warn
	}
	for i := range s.Hosts {
		host := &s.Hosts[i]
		if host.Name == subject.Host.Name || !isUpgradedByHand(host) {
			continue
		}
		found = append(found, judge("ElementalHost/"+host.Name,
			"is being upgraded by hand: wait until its label "+infrav1.InPlaceUpgradeLabel+" says how that ended")...)
	}
	return append(found, subject.judgeJobs(s.Foreign, ": wait until that is done")...)
}

func isUpgradedByHand(host *infrav1.ElementalHost) bool {
	return hoststate.Pending(host) && hoststate.Unmanaged(hoststate.CurrentAttempt(host))
}
