// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package retry_test

import (
	"errors"
	"fmt"
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

// refusal asks to be left alone for a while.
type refusal time.Duration

func (r refusal) Error() string             { return "not now" }
func (r refusal) RetryAfter() time.Duration { return time.Duration(r) }

var _ = DescribeTable("DelayAfter",
	func(err error, failures int, shortest, longest time.Duration) {
		policy := retry.Policy{First: time.Second, Max: 10 * time.Second}
		for range 100 {
			Expect(policy.DelayAfter(err, failures)).To(And(BeNumerically(">=", shortest), BeNumerically("<=", longest)))
		}
	},
	Entry("an error that asks for nothing", errors.New("broken"), 1, time.Second/2, time.Second),
	Entry("one that asks for longer", fmt.Errorf("reporting: %w", refusal(time.Minute)), 1, time.Minute, 75*time.Second),
	Entry("one that asks for less", refusal(time.Second), 1000, 5*time.Second, 10*time.Second),
	Entry("one that asks for too long", refusal(24*time.Hour), 1, 10*time.Minute, 750*time.Second),
)

var _ = DescribeTable("Exhausted",
	func(attempts, failures int, exhausted bool) {
		Expect(retry.Policy{Attempts: attempts}.Exhausted(failures)).To(Equal(exhausted))
	},
	Entry("never", 0, 1000, false),
	Entry("not yet", 3, 2, false),
	Entry("at the last", 3, 3, true),
)
