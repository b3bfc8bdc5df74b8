// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package hostupgrade

import (
	"context"
	"fmt"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	runtimemetrics "sigs.k8s.io/controller-runtime/pkg/metrics"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/metrics"
)

// endDeleted is how an attempt ends, for the counter, that is deleted before it has ended.
const endDeleted = "Deleted"

var (
	attemptsTotal = prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "elemental_upgrade_attempts_total",
		Help: "Attempts that have ended, by end. One that is HostLost and ends otherwise after all counts as both.",
	}, []string{"end"})

	stepSeconds = prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Name:    "elemental_upgrade_step_duration_seconds",
		Help:    "Time from when a step of an attempt was first entered to when it was last found done, observed when the attempt ends.",
		Buckets: []float64{1, 5, 15, 30, 60, 120, 300, 600, 1200, 1800, 3600, 7200, 21600, 86400},
	}, []string{"step"})
)

// There is a series of each end and each step from the beginning, so that the first increase is seen.
func init() {
	for _, end := range []infrav1.UpgradePhase{
		infrav1.UpgradeSucceeded, infrav1.UpgradeRolledBack, infrav1.UpgradeFailed, infrav1.UpgradeSuperseded,
		infrav1.UpgradeAborted, infrav1.UpgradeHostLost, endDeleted,
	} {
		attemptsTotal.WithLabelValues(string(end))
	}
	for _, step := range StepNamesOf(infrav1.DriverRancherDrain) {
		stepSeconds.WithLabelValues(step)
	}
	runtimemetrics.Registry.MustRegister(attemptsTotal, stepSeconds)
}

// count counts what a write has just stored. It goes by the difference to what was stored before, so that
// nothing is counted twice, whatever is repeated; what is stored right before a crash is not counted.
func count(before, after *infrav1.ElementalHostUpgrade) {
	was, is := before.Status.Phase, after.Status.Phase
	switch {
	case isEnded(was) || before.Annotations[infrav1.EndedAnnotation] != "":
		// What an attempt becomes that has ended, like Superseded, is no other end; nor is one that was moved here.
	case isEnded(is):
		attemptsTotal.WithLabelValues(string(is)).Inc()
		countSteps(after)
	case is == infrav1.UpgradeHostLost && was != is:
		attemptsTotal.WithLabelValues(string(is)).Inc()
	case released(before, after):
		attemptsTotal.WithLabelValues(endDeleted).Inc()
	}
}

func released(before, after *infrav1.ElementalHostUpgrade) bool {
	return controllerutil.ContainsFinalizer(before, infrav1.ElementalHostUpgradeFinalizer) &&
		!controllerutil.ContainsFinalizer(after, infrav1.ElementalHostUpgradeFinalizer)
}

// countSteps observes the steps of an attempt that has ended, the one that it ended at included.
func countSteps(upgrade *infrav1.ElementalHostUpgrade) {
	for _, step := range upgrade.Status.Steps {
		until := step.CompletionTime
		if until == nil {
			until = upgrade.Status.CompletionTime
		}
		if until == nil || step.Name == stepArrive {
			continue
		}
		// Stored times have whole seconds.
		took := until.Truncate(time.Second).Sub(step.StartTime.Truncate(time.Second))
		stepSeconds.WithLabelValues(step.Name).Observe(max(took, 0).Seconds())
	}
}

// Gauges are counted from the attempts that there are.
func Gauges() []metrics.Gauge {
	return []metrics.Gauge{{
		Name:  "elemental_upgrade_holds",
		Help:  "Reasons why attempts do not continue, by Cluster and reason.",
		Label: "reason", ExtraLabel: "cluster", CountPairs: countHolds,
	}}
}

func countHolds(ctx context.Context, reader client.Reader) (map[metrics.LabelPair]int, error) {
	attempts := &infrav1.ElementalHostUpgradeList{}
	if err := reader.List(ctx, attempts, client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("listing ElementalHostUpgrades: %w", err)
	}
	counts := map[metrics.LabelPair]int{}
	for i := range attempts.Items {
		attempt := &attempts.Items[i]
		for _, held := range attempt.Status.Holds {
			counts[metrics.LabelPair{Extra: attempt.Namespace + "/" + attempt.Spec.ClusterName, Value: string(held.Reason)}]++
		}
	}
	return counts, nil
}
