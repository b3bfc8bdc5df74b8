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

// Question describes the boot to assess.
type Question struct {
	// Bootstrapped is whether the host is a node, so that a kubelet has to run.
	Bootstrapped bool
	// Before is what was found before the upgrade: what had failed is a warning, and a default route has to be there again.
	Before UnitStates
	// IgnoreUnits ignores failed and pending units.
	IgnoreUnits bool
	// Seen are the Jobs of the previous verdict; nil for the first one. Later jobs are not part of the boot.
	Seen []string
}

// UnitStates are failed units and pending jobs of systemd, what they have achieved, and which checks fail.
type UnitStates struct {
	// Failed units, sorted.
	Failed []string `json:"failed,omitempty"`
	// Jobs that are pending, as "start NAME", sorted; nil if unknown, as in a marker of an older agent.
	Jobs []string `json:"jobs"`
	// Routed is whether there is a default route; false if unknown.
	Routed bool `json:"routed,omitempty"`
	// Failing are the reasons for which other checks fail, sorted; empty if unknown.
	Failing []string `json:"failing,omitempty"`
}

// Verdict on a boot.
type Verdict struct {
	State State
	// Reasons why it is not good, sorted.
	Reasons []string
	// Warnings that do not change it, sorted.
	Warnings []string
	// Kubelet identifies the processes of the kubelet. It changes when the kubelet is restarted.
	Kubelet string
	// Jobs are the numbers of systemd's pending jobs; nil if they were not queried.
	Jobs []string
	// Checks that were run, in order.
	Checks []wire.Check

	// failedBefore is whether it is good only because its reasons were there before the upgrade.
	failedBefore bool
}

// checkVerdicts maps the state of a check to its verdict.
var checkVerdicts = map[State]string{Good: wire.CheckPassed, Undecided: wire.CheckWaiting, Bad: wire.CheckFailed}

// Include adds the result of one check, found at that time.
func (v *Verdict) Include(name string, found Verdict, at time.Time) {
	for _, reason := range found.Reasons {
		v.add(found.State, reason)
	}
	v.warn(found.Warnings...)
	v.Kubelet += found.Kubelet
	if found.Jobs != nil {
		v.Jobs = found.Jobs
	}
	check := wire.Check{Name: name, Verdict: checkVerdicts[found.State], Since: second(at), Output: tail(strings.Join(found.Reasons, "\n"))}
	if found.failedBefore {
		check.Verdict, check.Output = wire.CheckFailedBefore, tail(strings.Join(found.Warnings, "\n"))
	}
	v.Checks = append(v.Checks, check)
}

// Message returns the reasons and warnings in one line.
func (v Verdict) Message() string {
	return Warn(strings.Join(v.Reasons, "; "), v.Warnings)
}

// Warn appends warnings to a message, which may be empty.
func Warn(message string, warnings []string) string {
	for _, warning := range warnings {
		if message != "" {
			message += "; "
		}
		message += wire.WarningPrefix + warning
	}
	return message
}

// add adds a result that is not Good: Bad outweighs Undecided.
func (v *Verdict) add(state State, reason string) {
	if v.State != Bad {
		v.State = state
	}
	v.Reasons = append(v.Reasons, reason)
	slices.Sort(v.Reasons)
}

func (v *Verdict) warn(warnings ...string) {
	v.Warnings = append(v.Warnings, warnings...)
	slices.Sort(v.Warnings)
}
