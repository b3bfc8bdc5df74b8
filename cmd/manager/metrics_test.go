// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"strings"

	"github.com/go-logr/logr"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"sigs.k8s.io/controller-runtime/pkg/client"
	runtimemetrics "sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/metrics"
)

// empty is a management cluster without objects.
type empty struct{ client.Reader }

func (empty) List(context.Context, client.ObjectList, ...client.ListOption) error { return nil }

// ours are the names of all our metrics that have a series.
func ours() []string {
	GinkgoHelper()
	families, err := all().Gather()
	Expect(err).NotTo(HaveOccurred())
	names := []string{}
	for _, family := range families {
		if strings.HasPrefix(family.GetName(), "elemental_") {
			names = append(names, family.GetName())
		}
	}
	return names
}

func all() prometheus.Gatherer {
	elected := make(chan struct{})
	close(elected)
	counted := prometheus.NewRegistry()
	counted.MustRegister(metrics.NewCollector(empty{}, elected, logr.Discard(), gauges()...))
	return prometheus.Gatherers{runtimemetrics.Registry, counted}
}

var _ = Describe("Our metrics", func() {
	It("are these, from the start", func() {
		Expect(ours()).To(ConsistOf(
			"elemental_hostapi_dropped_connections_total",
			"elemental_hostapi_held_polls",
			"elemental_hosts",
			"elemental_hosts_drifted",
			"elemental_runtime_extension_verifies_callers",
			"elemental_unmanaged_upgrades_total",
			"elemental_upgrade_attempts_total",
			"elemental_upgrade_step_duration_seconds",
		))
	})

	It("follow the conventions of Prometheus", func() {
		Expect(testutil.GatherAndLint(all(), ours()...)).To(BeEmpty())
	})
})
