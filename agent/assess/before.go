// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package assess

import (
	"context"
	"regexp"
	"slices"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/agent/system"
)

const (
	// lastingLooks is how often a check has to fail on the old boot before it counts as failing there, betweenLooks the time between two of
	// them: a kubelet that is being restarted is no excuse for one that does not answer after the upgrade.
	lastingLooks = 6
	betweenLooks = betweenTries
)

// excused precedes a reason that was one before the upgrade.
const excused = "failed before the upgrade, too: "

// Before assesses the running boot before an upgrade, to compare the next one with it. Checks that fail are repeated for a minute.
func Before(ctx context.Context, host *system.Host, bootstrapped bool) (UnitStates, error) {
	before, err := Units(ctx, host)
	if err != nil {
		return UnitStates{}, err
	}
	before.Failing, err = failing(ctx, host, Question{Bootstrapped: bootstrapped, IgnoreUnits: true})
	if err != nil {
		return UnitStates{}, err
	}
	programs := Verdict{}
	err = requiredChecks(ctx, host, UnitStates{}, &programs)
	before.Failing = append(before.Failing, programs.Reasons...)
	slices.Sort(before.Failing)
	return before, err
}

// failing returns the reasons for which the agent's own checks fail at each look.
func failing(ctx context.Context, host *system.Host, question Question) ([]string, error) {
	var lasting []string
	for look := 1; ; look++ {
		verdict, err := Boot(ctx, host, question)
		if err != nil {
			return nil, err
		}
		if look == 1 {
			lasting = slices.Clone(verdict.Reasons)
		}
		lasting = slices.DeleteFunc(lasting, func(reason string) bool { return reason == waitsForToolkit || !isAmong(verdict.Reasons, reason) })
		if len(lasting) == 0 || look == lastingLooks {
			return lasting, nil
		}
		if err := system.Wait(ctx, host.Clock, betweenLooks); err != nil {
			return nil, err
		}
	}
}

// excuse turns reasons that were there before the upgrade into warnings: going back would not mend them.
func (v *Verdict) excuse(before UnitStates) {
	reasons := v.Reasons
	v.Reasons = nil
	for _, reason := range reasons {
		if isAmong(before.Failing, reason) {
			v.warn(excused + reason)
		} else {
			v.Reasons = append(v.Reasons, reason)
		}
	}
	if len(reasons) > 0 && len(v.Reasons) == 0 {
		v.State, v.failedBefore = Good, true
	}
}

// numbers in a reason differ between boots: ports, process IDs, times.
var numbers = regexp.MustCompile(`\d+`)

func isAmong(reasons []string, reason string) bool {
	same := numbers.ReplaceAllString(reason, "0")
	return slices.ContainsFunc(reasons, func(each string) bool { return numbers.ReplaceAllString(each, "0") == same })
}
