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
	// bootCheck is whether the wanted snapshot was booted, as it was written. It is told of only when it was not.
	bootCheck = "boot"
	// stableCheck is whether a boot stays good.
	stableCheck = "stable"
	// formerChecks begin the names of checks of the former OS.
	formerChecks = "former/"
)

// wrongly is the verdict on a boot of which nothing else needs to be asked.
func (m *Machine) wrongly(reason string) assess.Verdict {
	verdict := assess.Verdict{State: assess.Good}
	verdict.Include(bootCheck, assess.Verdict{State: assess.Bad, Reasons: []string{reason}}, m.Clock.Now())
	return verdict
}

// record what checks have found. A check that finds the same again keeps its time: a report is written whenever it differs
// from what was reported before.
func (m *Marker) record(found []wire.Check) {
	checks := slices.Clone(m.Checks) // what was reported is not changed
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

// fitting leaves out what is more than may be reported: from the end, and first what has passed.
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

// named puts a prefix before the names of checks.
func named(prefix string, checks []wire.Check) []wire.Check {
	checks = slices.Clone(checks)
	for i := range checks {
		checks[i].Name = prefix + checks[i].Name
	}
	return checks
}

// outOfTime is for checks that would have been waited for.
func outOfTime(checks []wire.Check) []wire.Check {
	checks = slices.Clone(checks)
	for i := range checks {
		if checks[i].Verdict == wire.CheckWaiting {
			checks[i].Verdict = wire.CheckTimedOut
		}
	}
	return checks
}
