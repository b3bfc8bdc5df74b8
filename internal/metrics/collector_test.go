// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package metrics_test

import (
	"context"
	"errors"
	"strings"

	"github.com/go-logr/logr"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/metrics"
)

func counting(counts map[string]int, err error) func(context.Context, client.Reader) (map[string]int, error) {
	return func(context.Context, client.Reader) (map[string]int, error) { return counts, err }
}

var _ = Describe("A collector", func() {
	hosts := metrics.Gauge{
		Name: "elemental_test_hosts", Help: "Hosts.", Label: "state", Values: []string{"Free", "Serving"},
		Count: counting(map[string]int{"Serving": 3, "no such state": 2, "nor this": 1}, nil),
	}
	drifted := metrics.Gauge{Name: "elemental_test_drifted", Help: "Drifted.", Count: counting(map[string]int{"": 4}, nil)}
	broken := metrics.Gauge{Name: "elemental_test_broken", Help: "Broken.", Count: counting(nil, errors.New("no cache"))}

	elected := func() <-chan struct{} {
		closed := make(chan struct{})
		close(closed)
		return closed
	}

	It("has a series of every value that is known, and one of all others", func() {
		collector := metrics.NewCollector(nil, elected(), logr.Discard(), hosts, drifted)
		Expect(testutil.CollectAndCompare(collector, strings.NewReader(`
# HELP elemental_test_drifted Drifted.
# TYPE elemental_test_drifted gauge
elemental_test_drifted 4
# HELP elemental_test_hosts Hosts.
# TYPE elemental_test_hosts gauge
elemental_test_hosts{state="Free"} 0
elemental_test_hosts{state="Other"} 3
elemental_test_hosts{state="Serving"} 3
`))).To(Succeed())
	})

	It("counts by two labels, of which none is known beforehand", func() {
		held := metrics.Gauge{
			Name: "elemental_test_held", Help: "Held.", Label: "reason", ExtraLabel: "cluster",
			CountPairs: func(context.Context, client.Reader) (map[metrics.LabelPair]int, error) {
				return map[metrics.LabelPair]int{{Extra: "edge/a", Value: "NoSlot"}: 2, {Extra: "edge/b", Value: "NoSlot"}: 1}, nil
			},
		}
		collector := metrics.NewCollector(nil, elected(), logr.Discard(), held)
		Expect(testutil.CollectAndCompare(collector, strings.NewReader(`
# HELP elemental_test_held Held.
# TYPE elemental_test_held gauge
elemental_test_held{cluster="edge/a",reason="NoSlot"} 2
elemental_test_held{cluster="edge/b",reason="NoSlot"} 1
`))).To(Succeed())
	})

	It("leaves out what cannot be counted, and nothing else", func() {
		collector := metrics.NewCollector(nil, elected(), logr.Discard(), broken, drifted)
		Expect(testutil.CollectAndCount(collector)).To(Equal(1))
	})

	It("is silent on a replica that does not lead", func() {
		Expect(testutil.CollectAndCount(metrics.NewCollector(nil, make(chan struct{}), logr.Discard(), hosts, drifted))).To(BeZero())
	})
})
