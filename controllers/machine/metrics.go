// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package machine

import (
	"context"
	"fmt"

	"sigs.k8s.io/cluster-api/util/conditions"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/metrics"
)

// Gauges are counted from the machines that there are.
func Gauges() []metrics.Gauge {
	return []metrics.Gauge{{
		Name:  "elemental_hosts_drifted",
		Help:  "Hosts of ElementalMachines whose condition OSDrifted is True: they run another OS than they were brought to.",
		Count: countDrifted,
	}}
}

func countDrifted(ctx context.Context, reader client.Reader) (map[string]int, error) {
	machines := &infrav1.ElementalMachineList{}
	if err := reader.List(ctx, machines, client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("listing ElementalMachines: %w", err)
	}
	drifted := 0
	for i := range machines.Items {
		if conditions.IsTrue(&machines.Items[i], infrav1.OSDriftedCondition) {
			drifted++
		}
	}
	return map[string]int{"": drifted}, nil
}
