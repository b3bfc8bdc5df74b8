// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package extensionserver

import (
	"github.com/prometheus/client_golang/prometheus"
	"sigs.k8s.io/controller-runtime/pkg/metrics"
)

var verifiesCallers = prometheus.NewGauge(prometheus.GaugeOpts{
	Name: "elemental_runtime_extension_verifies_callers",
	Help: "1 if callers of hooks have to show a client certificate, 0 if anybody who reaches the port may call them.",
})

func init() { metrics.Registry.MustRegister(verifiesCallers) }
