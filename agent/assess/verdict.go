// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package assess

import (
	"slices"
	"strings"
	"time"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/wire"
)

// State of a verdict.
type State string

// States.
const (
	// Good: the boot can be relied upon.
	Good State = "Good"
	// Undecided: ask again later.
	Undecided State = "Undecided"
	// Bad: the boot failed.
	Bad State = "Bad"
)

// Question is which boot is to be judged.
type Question struct {
	// Bootstrapped says that the host is a node, so that a kubelet has to run.
	Bootstrapped bool
	// Before is how units were before the upgrade, which does not count against it.
	Before UnitStates
	// IgnoreUnits leaves units that have failed, or are still to be started, out altogether.
	IgnoreUnits bool
	// Seen are the Jobs of the verdict before; nil for the first one. Others than those have only just begun.
	Seen []string
}

// UnitStates are what is not well with systemd's units.
type UnitStates struct {
	// Failed units, sorted.
	Failed []string `json:"failed,omitempty"`
	// Jobs that are pending, as "start NAME", sorted; nil when that is not known, as of what an older agent has kept.
	Jobs []string `json:"jobs"`
}

// Verdict on a boot.
type Verdict struct {
	State State
	// Reasons why it is not good, sorted.
	Reasons []string
	// Warnings that do not change it, sorted.
	Warnings []string
	// Kubelet names the processes of the kubelet. One that was started again has another name.
	Kubelet string
	// Jobs are the numbers of what systemd has still to do; nil when that was not asked.
	Jobs []string
	// Checks that were made, in their order.
	Checks []wire.Check
}

// checkVerdicts of what a check has found.
var checkVerdicts = map[State]string{Good: wire.CheckPassed, Undecided: wire.CheckWaiting, Bad: wire.CheckFailed}

// Include what one check has found at that time.
func (v *Verdict) Include(name string, found Verdict, at time.Time) {
	for _, reason := range found.Reasons {
		v.add(found.State, reason)
	}
	v.Kubelet += found.Kubelet
	if found.Jobs != nil {
		v.Jobs = found.Jobs
	}
	v.Checks = append(v.Checks, wire.Check{
		Name: name, Verdict: checkVerdicts[found.State], Since: second(at), Output: tail(strings.Join(found.Reasons, "\n")),
	})
}

// Message is the reasons and warnings in one line.
func (v Verdict) Message() string {
	return Warn(strings.Join(v.Reasons, "; "), v.Warnings)
}

// Warn is a message with warnings behind it, which may be all that there is.
func Warn(message string, warnings []string) string {
	for _, warning := range warnings {
		if message != "" {
			message += "; "
		}
		message += wire.WarningPrefix + warning
	}
	return message
}

// add takes another finding into account that is not Good: Bad outweighs Undecided.
func (v *Verdict) add(state State, reason string) {
	if v.State != Bad {
		v.State = state
	}
	v.Reasons = append(v.Reasons, reason)
	slices.Sort(v.Reasons)
}
