// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package host

import (
	"context"
	"fmt"

	"github.com/prometheus/client_golang/prometheus"
	"sigs.k8s.io/controller-runtime/pkg/client"
	runtimemetrics "sigs.k8s.io/controller-runtime/pkg/metrics"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/hoststate"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/metrics"
)

// unmanagedUpgrades is counted after the write that records the outcome, which only one can make.
var unmanagedUpgrades = prometheus.NewCounterVec(prometheus.CounterOpts{
	Name: "elemental_unmanaged_upgrades_total",
	Help: "Upgrades triggered by hand that have ended, by outcome: done, failed or rolled-back.",
}, []string{"outcome"})

func init() {
	for _, outcome := range outcomes {
		unmanagedUpgrades.WithLabelValues(outcome)
	}
	runtimemetrics.Registry.MustRegister(unmanagedUpgrades)
}

// Gauges are counted from the hosts that there are.
func Gauges() []metrics.Gauge {
	states := make([]string, 0, len(hoststate.States))
	for _, state := range hoststate.States {
		states = append(states, string(state))
	}
	return []metrics.Gauge{{
		Name:  "elemental_hosts",
		Help:  "ElementalHosts, by what they are there for at this moment.",
		Label: "state", Values: states, Count: countStates,
	}}
}

func countStates(ctx context.Context, reader client.Reader) (map[string]int, error) {
	hosts := &infrav1.ElementalHostList{}
	if err := reader.List(ctx, hosts, client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("listing ElementalHosts: %w", err)
	}
	counts := map[string]int{}
	for i := range hosts.Items {
		counts[string(hoststate.StateOf(&hosts.Items[i]))]++
	}
	return counts, nil
}
