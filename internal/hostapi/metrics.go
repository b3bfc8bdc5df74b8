// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package hostapi

import (
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"sigs.k8s.io/controller-runtime/pkg/metrics"
)

// Results of a report, as they are counted.
const (
	reportWritten   = "written"   // it contained something new
	reportUnchanged = "unchanged" // it equals what is stored
	reportCoalesced = "coalesced" // a later one of the same host replaced it
	reportFailed    = "failed"    // the API server did not take it
	reportRefused   = "refused"   // by a quota, or because too many others were being written
)

// Reasons of quotas to refuse a write.
const (
	refusedRegistrations = "registrations" // too many of a registration at once
	refusedReports       = "reports"       // too many of an approved host at once
	refusedUnapproved    = "unapproved"    // more than one a minute of an unapproved host
	refusedBytes         = "bytes"         // too much data was stored for hosts of a registration that are not vouched for
	refusedMaxHosts      = "maxHosts"      // the registration is full
	refusedMaxPending    = "maxPending"    // too many of its hosts are not approved
)

var (
	requestSeconds = prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Name:    "elemental_hostapi_request_duration_seconds",
		Help:    "Time to answer requests of hosts, without the time that a request was held on purpose.",
		Buckets: []float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10},
	}, []string{"route", "code"})

	heldPolls = prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "elemental_hostapi_held_polls",
		Help: "Requests for the desired state that are held until it changes: one for each host that is connected.",
	})

	reportsTotal = prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "elemental_hostapi_reports_total",
		Help: "Reports of hosts, by what became of them: written, unchanged, coalesced, failed or refused.",
	}, []string{"result"})

	refusedWrites = prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "elemental_hostapi_refused_writes_total",
		Help: "Registrations and reports that a quota refused for now, by the quota.",
	}, []string{"reason"})

	droppedConnections = prometheus.NewCounter(prometheus.CounterOpts{
		Name: "elemental_hostapi_dropped_connections_total",
		Help: "Connections closed because the callers of too many others had proven nothing either: of hosts that all return at once, or of an attacker.",
	})
)

func init() {
	metrics.Registry.MustRegister(requestSeconds, heldPolls, reportsTotal, refusedWrites, droppedConnections)
}

func observeRequest(route string, code int, took time.Duration) {
	requestSeconds.WithLabelValues(route, strconv.Itoa(code)).Observe(took.Seconds())
}

func countReport(result string) { reportsTotal.WithLabelValues(result).Inc() }
