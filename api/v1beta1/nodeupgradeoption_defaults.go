// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package v1beta1

import (
	"cmp"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Default time-outs of the steps of an upgrade.
const (
	DefaultEvacuationTimeout = time.Hour
	DefaultDrainTimeout      = 30 * time.Minute
	DefaultRebootTimeout     = 30 * time.Minute
	DefaultAssessmentTimeout = 15 * time.Minute
	DefaultSettleTimeout     = time.Hour
)

// WithDefaults returns the option with every unset field at its default. Defaults are applied when
// an option is read, not when it is stored, so that an object says only what its author said.
func (o NodeUpgradeOption) WithDefaults() NodeUpgradeOption {
	o.Strategy.Mode = cmp.Or(o.Strategy.Mode, NodeUpgradeModeAuto)
	o.MaxConcurrent = cmp.Or(o.MaxConcurrent, 1)
	o.Prefetch = cmp.Or(o.Prefetch, PrefetchDownload)
	o.Replacement = cmp.Or(o.Replacement, ReplacementDeny)
	o.VMPolicy = cmp.Or(o.VMPolicy, VMPolicyBlock)
	o.OnRollback = cmp.Or(o.OnRollback, RollbackUncordon)
	o.Timeouts = o.Timeouts.withDefaults()
	return o
}

func (t UpgradeTimeouts) withDefaults() UpgradeTimeouts {
	t.Evacuation = orDuration(t.Evacuation, DefaultEvacuationTimeout)
	t.Drain = orDuration(t.Drain, DefaultDrainTimeout)
	t.Reboot = orDuration(t.Reboot, DefaultRebootTimeout)
	t.Assessment = orDuration(t.Assessment, DefaultAssessmentTimeout)
	t.Settle = orDuration(t.Settle, DefaultSettleTimeout)
	return t
}

func orDuration(set *metav1.Duration, fallback time.Duration) *metav1.Duration {
	if set != nil {
		return set
	}
	return &metav1.Duration{Duration: fallback}
}
