// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package retry_test

import (
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/agent/retry"
)

var _ = DescribeTable("Delay",
	func(failures int, shortest, longest time.Duration) {
		policy := retry.Policy{First: time.Second, Max: 10 * time.Second}
		seen := map[time.Duration]bool{}
		for range 100 {
			delay := policy.Delay(failures)
			Expect(delay).To(And(BeNumerically(">=", shortest), BeNumerically("<", longest)))
			seen[delay] = true
		}
		Expect(len(seen)).To(BeNumerically(">", 50), "hosts must not come back at the same time")
	},
	Entry("after the first", 1, time.Second/2, time.Second),
	Entry("doubles", 3, 2*time.Second, 4*time.Second),
	Entry("is bounded", 1000, 5*time.Second, 10*time.Second),
)

var _ = DescribeTable("Exhausted",
	func(attempts, failures int, exhausted bool) {
		Expect(retry.Policy{Attempts: attempts}.Exhausted(failures)).To(Equal(exhausted))
	},
	Entry("never", 0, 1000, false),
	Entry("not yet", 3, 2, false),
	Entry("at the last", 3, 3, true),
)
