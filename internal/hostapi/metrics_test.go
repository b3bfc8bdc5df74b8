// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package hostapi_test

import (
	"context"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"k8s.io/client-go/kubernetes"
	"sigs.k8s.io/controller-runtime/pkg/metrics"
)

// sample is one series of a metric.
type sample struct {
	labels map[string]string
	// value of a gauge or a counter.
	value float64
}

// series returns the metrics of a name.
func series(name string) []sample {
	families, err := metrics.Registry.Gather()
	if err != nil {
		return nil
	}
	var found []sample
	for _, family := range families {
		if family.GetName() != name {
			continue
		}
		for _, one := range family.GetMetric() {
			labels := map[string]string{}
			for _, pair := range one.GetLabel() {
				labels[pair.GetName()] = pair.GetValue()
			}
			found = append(found, sample{labels, one.GetGauge().GetValue() + one.GetCounter().GetValue()})
		}
	}
	return found
}

func gauge(name string) float64 {
	found := series(name)
	if len(found) == 0 {
		return 0
	}
	return found[0].value
}

func counter(name, label, value string) float64 {
	for _, one := range series(name) {
		if one.labels[label] == value {
			return one.value
		}
	}
	return 0
}

// apiRequests is how often the API server was asked for hosts, registrations or Secrets, watches aside.
func apiRequests(ctx context.Context) []string {
	GinkgoHelper()
	clients, err := kubernetes.NewForConfig(plane.Config)
	Expect(err).NotTo(HaveOccurred())
	text, err := clients.RESTClient().Get().AbsPath("/metrics").DoRaw(ctx)
	Expect(err).NotTo(HaveOccurred())
	var lines []string
	for line := range strings.SplitSeq(string(text), "\n") {
		if strings.HasPrefix(line, "apiserver_request_total{") && !strings.Contains(line, `verb="WATCH"`) && aboutUs(line) {
			lines = append(lines, line)
		}
	}
	return lines
}

func aboutUs(line string) bool {
	for _, resource := range []string{"elementalhosts", "elementalregistrations", "secrets"} {
		if strings.Contains(line, `resource="`+resource+`"`) {
			return true
		}
	}
	return false
}

var _ = Describe("Metrics", func() {
	It("count requests by route and answer", func(ctx SpecContext) {
		endpoint := openRegistration(ctx, nil)
		host := registered(ctx, endpoint, "m-1")
		Expect(host.get(ctx, "/bootstrap").status).To(Equal(403))
		var seen []string
		for _, one := range series("elemental_hostapi_request_duration_seconds") {
			seen = append(seen, one.labels["route"]+" "+one.labels["code"])
		}
		Expect(seen).To(ContainElements("getRegistration 200", "createHost 201", "getBootstrap 403"))
		Expect(testutil.GatherAndLint(metrics.Registry, "elemental_hostapi_held_polls", "elemental_hostapi_request_duration_seconds",
			"elemental_hostapi_reports_total")).To(BeEmpty(), "the conventions of Prometheus")
	})
})
