// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package metrics

import (
	"context"
	"fmt"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/metrics"
)

// countTimeout is for the first count, which may have to wait for the cache; others take no time. A
// scrape that takes longer is given up by Prometheus, by default after 10 seconds.
const countTimeout = 5 * time.Second

// Other is the value of a label under which everything is counted that is not among Gauge.Values.
const Other = "Other"

// Gauge is a number of objects, by the value of one label or of none.
type Gauge struct {
	// Name of the metric, and its Help.
	Name, Help string
	// Label that tells the objects apart. Empty: there is none.
	Label string
	// Values that the label can have. There is always a series of each, and of no others but Other.
	Values []string
	// Count returns how many objects there are, by value. What it reads must not be changed.
	Count func(ctx context.Context, reader client.Reader) (map[string]int, error)
	// ExtraLabel is a second label, for what the objects belong to. Empty: there is none. With it CountPairs counts in place of Count, by both
	// labels, and there is no series of zero.
	ExtraLabel string
	CountPairs func(ctx context.Context, reader client.Reader) (map[LabelPair]int, error)
}

// LabelPair are the values of the labels Gauge.ExtraLabel and Gauge.Label.
type LabelPair struct{ Extra, Value string }

// Collector counts gauges.
type Collector struct {
	reader  client.Reader
	elected <-chan struct{}
	log     logr.Logger
	gauges  []Gauge
	descs   []*prometheus.Desc
}

var _ prometheus.Collector = &Collector{}

// NewCollector makes a collector that is silent until elected is closed.
func NewCollector(reader client.Reader, elected <-chan struct{}, log logr.Logger, gauges ...Gauge) *Collector {
	c := &Collector{reader: reader, elected: elected, log: log, gauges: gauges}
	for _, gauge := range gauges {
		var labels []string
		if gauge.ExtraLabel != "" {
			labels = append(labels, gauge.ExtraLabel)
		}
		if gauge.Label != "" {
			labels = append(labels, gauge.Label)
		}
		c.descs = append(c.descs, prometheus.NewDesc(gauge.Name, gauge.Help, labels, nil))
	}
	return c
}

// Register adds the gauges to those that a manager serves.
func Register(mgr ctrl.Manager, gauges ...Gauge) error {
	collector := NewCollector(mgr.GetClient(), mgr.Elected(), mgr.GetLogger().WithName("metrics"), gauges...)
	if err := metrics.Registry.Register(collector); err != nil {
		return fmt.Errorf("registering metrics: %w", err)
	}
	return nil
}

// Describe tells Prometheus which metrics there are.
func (c *Collector) Describe(descs chan<- *prometheus.Desc) {
	for _, desc := range c.descs {
		descs <- desc
	}
}

// Collect counts. A gauge that cannot be counted is left out, and the others are not.
func (c *Collector) Collect(found chan<- prometheus.Metric) {
	select {
	case <-c.elected:
	default:
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), countTimeout)
	defer cancel()
	for i, gauge := range c.gauges {
		if gauge.ExtraLabel != "" {
			c.collectPairs(ctx, found, i)
			continue
		}
		counts, err := gauge.Count(ctx, c.reader)
		if err != nil {
			c.log.Error(err, "Failed to count", "metric", gauge.Name)
			continue
		}
		if gauge.Label == "" {
			found <- prometheus.MustNewConstMetric(c.descs[i], prometheus.GaugeValue, float64(counts[""]))
			continue
		}
		for value, count := range gauge.bounded(counts) {
			found <- prometheus.MustNewConstMetric(c.descs[i], prometheus.GaugeValue, float64(count), value)
		}
	}
}

func (c *Collector) collectPairs(ctx context.Context, found chan<- prometheus.Metric, i int) {
	counts, err := c.gauges[i].CountPairs(ctx, c.reader)
	if err != nil {
		c.log.Error(err, "Failed to count", "metric", c.gauges[i].Name)
		return
	}
	for pair, count := range counts {
		found <- prometheus.MustNewConstMetric(c.descs[i], prometheus.GaugeValue, float64(count), pair.Extra, pair.Value)
	}
}

// bounded are the counts by the values that the label can have.
func (g Gauge) bounded(counts map[string]int) map[string]int {
	bounded := map[string]int{Other: 0}
	for _, value := range g.Values {
		bounded[value] = 0
	}
	for value, count := range counts {
		if _, known := bounded[value]; !known {
			value = Other
		}
		bounded[value] += count
	}
	return bounded
}
