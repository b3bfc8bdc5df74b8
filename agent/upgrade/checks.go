// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package upgrade

import (
	"reflect"
	"slices"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/agent/assess"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/wire"
)

const (
	// bootCheck is whether the wanted snapshot was booted, as it was written. It is reported only if it failed.
	bootCheck = "boot"
	// stableCheck is whether a boot stays good.
	stableCheck = "stable"
	// formerChecks is the prefix of the names of checks of the former OS.
	formerChecks = "former/"
)

// badBoot is the verdict on a boot that needs no other checks.
func (m *Machine) badBoot(reason string) assess.Verdict {
	verdict := assess.Verdict{State: assess.Good}
	verdict.Include(bootCheck, assess.Verdict{State: assess.Bad, Reasons: []string{reason}}, m.Clock.Now())
	return verdict
}

// record adds the results of checks. A check with an unchanged result keeps its time: every difference causes a write to the management
// cluster.
func (m *Marker) record(found []wire.Check) {
	checks := slices.Clone(m.Checks) // the reported slice must not change
	for _, check := range found {
		i := slices.IndexFunc(checks, func(known wire.Check) bool { return known.Name == check.Name })
		switch {
		case i < 0:
			checks = append(checks, check)
		case !sameFinding(checks[i], check):
			checks[i] = check
		}
	}
	m.Checks = fitting(checks)
}

func sameFinding(a, b wire.Check) bool {
	a.Since = b.Since
	return reflect.DeepEqual(a, b)
}

// fitting drops checks beyond the maximum that may be reported: passed ones first, starting from the end.
func fitting(checks []wire.Check) []wire.Check {
	for _, every := range []bool{false, true} {
		for i := len(checks) - 1; i >= 0 && len(checks) > wire.MaxChecks; i-- {
			if every || checks[i].Verdict == wire.CheckPassed {
				checks = slices.Delete(checks, i, i+1)
			}
		}
	}
	return checks
}

// named adds a prefix to the names of checks.
func named(prefix string, checks []wire.Check) []wire.Check {
	checks = slices.Clone(checks)
	for i := range checks {
		checks[i].Name = prefix + checks[i].Name
	}
	return checks
}

// outOfTime turns Waiting into TimedOut.
func outOfTime(checks []wire.Check) []wire.Check {
	checks = slices.Clone(checks)
	for i := range checks {
		if checks[i].Verdict == wire.CheckWaiting {
			checks[i].Verdict = wire.CheckTimedOut
		}
	}
	return checks
}
