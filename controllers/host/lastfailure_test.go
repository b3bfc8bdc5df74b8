// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package host

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
)

var _ = DescribeTable("A host says of its last upgrade", func(phase infrav1.UpgradePhase, change func(*infrav1.ElementalHost), expected ...string) {
	host, last := &infrav1.ElementalHost{}, infrav1.ElementalHostUpgrade{}
	last.Name, last.Status.Phase = "a1", phase
	host.Labels = map[string]string{}
	change(host)
	id, outcome := lastFailure(host, &last)
	Expect([]string{id, outcome}).To(Equal(append(expected, "", "")[:2]))
},
	Entry("that it fell back", infrav1.UpgradeRolledBack, func(*infrav1.ElementalHost) {}, "a1", infrav1.InPlaceUpgradeRolledBack),
	Entry("that it failed", infrav1.UpgradeFailed, func(*infrav1.ElementalHost) {}, "a1", infrav1.InPlaceUpgradeFailed),
	Entry("nothing if it succeeded", infrav1.UpgradeSucceeded, func(*infrav1.ElementalHost) {}),
	Entry("nothing if it was superseded", infrav1.UpgradeSuperseded, func(*infrav1.ElementalHost) {}),
	Entry("nothing once the next one is requested", infrav1.UpgradeRolledBack, func(h *infrav1.ElementalHost) {
		h.Spec.Upgrade = &infrav1.HostUpgradeRequest{Attempt: "a2"}
	}),
	Entry("nothing once a user has triggered it again", infrav1.UpgradeRolledBack, func(h *infrav1.ElementalHost) {
		h.Labels[infrav1.InPlaceUpgradeLabel] = infrav1.InPlaceUpgradePending
	}),
	Entry("how a run by hand has ended since", infrav1.UpgradeRolledBack, func(h *infrav1.ElementalHost) {
		h.Labels[infrav1.InPlaceUpgradeLabel] = infrav1.InPlaceUpgradeFailed
		h.Annotations = map[string]string{infrav1.LastAttemptAnnotation: "manual-1=failed@sha256:2"}
	}, "manual-1", infrav1.InPlaceUpgradeFailed),
	Entry("nothing of a run by hand before it", infrav1.UpgradeRolledBack, func(h *infrav1.ElementalHost) {
		h.Annotations = map[string]string{infrav1.LastAttemptAnnotation: "manual-1=failed@sha256:2"}
	}, "a1", infrav1.InPlaceUpgradeRolledBack),
)
