// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package audit_test

import (
	"fmt"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/audit"
)

// slots is a write of the slots of a cluster, at a second that is also its resourceVersion.
func slots(second int, cluster string, upgrades ...string) string {
	taken := []string{}
	for _, upgrade := range upgrades {
		taken = append(taken, fmt.Sprintf(`{"attempt":"%[1]s/1","upgrade":%[1]q}`, upgrade))
	}
	return line(second, "patch", "elementalclusters/status", cluster, 200, fmt.Sprintf(
		`{"kind":"ElementalCluster","metadata":{"name":%q,"resourceVersion":"%d"},"status":{"upgradeSlots":[%s]}}`,
		cluster, second, strings.Join(taken, ",")))
}

var _ = Describe("Slots", func() {
	It("are intervals by attempt, of one cluster", func() {
		Expect(audit.Slots(log(
			slots(1, "c"), slots(2, "c", "a"), slots(3, "other", "z"), slots(4, "c", "a", "b"), slots(6, "c", "b"), slots(9, "c", "b", "d"),
		), "c")).To(Equal(map[string][]audit.Interval{
			"a": {{From: at(2), To: at(6)}}, "b": {{From: at(4)}}, "d": {{From: at(9)}},
		}))
	})
})
