// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package v1beta1

import (
	"cmp"
	"time"
)

// Default time-outs of the steps of an upgrade.
const (
	DefaultEvacuationTimeout = time.Hour
	DefaultDrainTimeout      = 30 * time.Minute
	DefaultRebootTimeout     = 30 * time.Minute
	DefaultAssessmentTimeout = 15 * time.Minute
	DefaultSettleTimeout     = time.Hour
)

// WithDefaults returns the option with every unset field at its default. The CRDs have the same defaults, but not for an option
// that is missing as a whole, and options of rollouts are also stored in annotations.
func (o NodeUpgradeOption) WithDefaults() NodeUpgradeOption {
	o.Strategy.Mode = cmp.Or(o.Strategy.Mode, NodeUpgradeModeAuto)
	o.MaxConcurrent = cmp.Or(o.MaxConcurrent, 1)
	o.Prefetch = cmp.Or(o.Prefetch, PrefetchDownload)
	o.Replacement = cmp.Or(o.Replacement, ReplacementDeny)
	o.VMPolicy = cmp.Or(o.VMPolicy, VMPolicyBlock)
	o.OnRollback = cmp.Or(o.OnRollback, RollbackUncordon)
	return o
}

// Evacuation is evacuationSeconds, or its default.
func (t UpgradeTimeouts) Evacuation() time.Duration {
	return seconds(t.EvacuationSeconds, DefaultEvacuationTimeout)
}

// Drain is drainSeconds, or its default.
func (t UpgradeTimeouts) Drain() time.Duration { return seconds(t.DrainSeconds, DefaultDrainTimeout) }

// Reboot is rebootSeconds, or its default.
func (t UpgradeTimeouts) Reboot() time.Duration {
	return seconds(t.RebootSeconds, DefaultRebootTimeout)
}

// Assessment is assessmentSeconds, or its default.
func (t UpgradeTimeouts) Assessment() time.Duration {
	return seconds(t.AssessmentSeconds, DefaultAssessmentTimeout)
}

// Settle is settleSeconds, or its default.
func (t UpgradeTimeouts) Settle() time.Duration {
	return seconds(t.SettleSeconds, DefaultSettleTimeout)
}

// Disruption is the sum of the time-outs from Admit until the node serves again. Waits for a user do not count.
func (t UpgradeTimeouts) Disruption() time.Duration {
	return t.Evacuation() + t.Drain() + t.Return()
}

// Return is the sum of the time-outs from the trigger until the node serves again.
func (t UpgradeTimeouts) Return() time.Duration { return t.Reboot() + t.Assessment() }

func seconds(set *int32, fallback time.Duration) time.Duration {
	if set == nil {
		return fallback
	}
	return time.Duration(*set) * time.Second
}
