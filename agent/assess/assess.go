// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package assess

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/agent/system"
)

// ToolkitUnit is the toolkit's boot assessment. Source: elemental-toolkit, feature "boot-assessment".
const ToolkitUnit = "elemental-boot-assessment.service"

const (
	cmdlineFile = "/proc/cmdline"
	// healthCheck on the kernel's command line asks for the toolkit's assessment.
	healthCheck = "elemental.health_check"
)

// Boot judges the running boot once, without the user's checks.
func Boot(ctx context.Context, host *system.Host, question Question) (Verdict, error) {
	verdict := Verdict{State: Good}
	for _, check := range []func(context.Context, *system.Host, Question, *Verdict) error{toolkit, kubelet, units, jobs} {
		if err := check(ctx, host, question, &verdict); err != nil {
			return Verdict{}, err
		}
	}
	return verdict, nil
}

// Checks are the user's. They are for a boot that is good otherwise.
func Checks(ctx context.Context, host *system.Host) (Verdict, error) {
	verdict := Verdict{State: Good}
	return verdict, userChecks(ctx, host, &verdict)
}

func toolkit(ctx context.Context, host *system.Host, _ Question, verdict *Verdict) error {
	states, err := activeStates(ctx, host, ToolkitUnit)
	if err != nil {
		return err
	}
	cmdline, err := host.ReadTrimmed(cmdlineFile)
	if err != nil {
		return err
	}
	// GRUB asks for the assessment; a boot that is not on trial has none, and the unit stays inactive.
	onTrial := slices.Contains(strings.Fields(cmdline), healthCheck)
	switch {
	case states[0] == "failed":
		verdict.add(Bad, "the toolkit's boot assessment failed")
	case states[0] == "activating", states[0] != "active" && onTrial:
		verdict.add(Undecided, "waiting for the toolkit's boot assessment")
	}
	return nil
}

func units(ctx context.Context, host *system.Host, question Question, verdict *Verdict) error {
	if question.IgnoreUnits {
		return nil
	}
	failed, err := failedUnits(ctx, host)
	if err != nil {
		return err
	}
	failed = slices.DeleteFunc(failed, func(unit string) bool {
		return unit == ToolkitUnit || slices.Contains(question.Before.Failed, unit)
	})
	if len(failed) > 0 {
		verdict.add(Bad, "units failed that had not before: "+strings.Join(failed, ", "))
	}
	return nil
}

// jobs: a unit that is still to be started may fail yet, or take others down. One that was not there at the look before has just
// begun: a timer that starts something every few seconds would keep the boot from ever being good.
func jobs(ctx context.Context, host *system.Host, question Question, verdict *Verdict) error {
	if question.IgnoreUnits || question.Before.Jobs == nil {
		return nil
	}
	pending, err := pendingJobs(ctx, host)
	if err != nil {
		return err
	}
	verdict.Jobs = []string{}
	var waiting []string
	for _, each := range pending {
		verdict.Jobs = append(verdict.Jobs, each.id)
		known := slices.Contains(question.Before.Jobs, each.what)
		if !known && (question.Seen == nil || slices.Contains(question.Seen, each.id)) {
			waiting = append(waiting, each.what)
		}
	}
	if len(waiting) > 0 {
		verdict.add(Undecided, "systemd has still to do: "+strings.Join(waiting, ", "))
	}
	return nil
}

// Units lists what was wrong, or not done yet, before an upgrade.
func Units(ctx context.Context, host *system.Host) (UnitStates, error) {
	failed, err := failedUnits(ctx, host)
	if err != nil {
		return UnitStates{}, err
	}
	pending, err := pendingJobs(ctx, host)
	states := UnitStates{Failed: failed, Jobs: []string{}}
	for _, each := range pending {
		states.Jobs = append(states.Jobs, each.what)
	}
	return states, err
}

// failedUnits lists the systemd units that have failed, sorted.
func failedUnits(ctx context.Context, host *system.Host) ([]string, error) {
	lines, err := list(ctx, host, "list-units", "--state=failed", "--no-legend", "--plain")
	if err != nil {
		return nil, fmt.Errorf("listing failed units: %w", err)
	}
	var failed []string
	for _, fields := range lines {
		failed = append(failed, fields[0])
	}
	slices.Sort(failed)
	return failed, nil
}

// job is something that systemd has to do: its number, which no other has in the same boot, and "start NAME".
type job struct{ id, what string }

// pendingJobs lists what systemd has to do, sorted.
func pendingJobs(ctx context.Context, host *system.Host) ([]job, error) {
	lines, err := list(ctx, host, "list-jobs", "--no-legend", "--plain")
	if err != nil {
		return nil, fmt.Errorf("listing jobs: %w", err)
	}
	var pending []job
	for _, fields := range lines {
		// Number, unit, type, state; some versions say in words that there is none.
		if _, err := strconv.Atoi(fields[0]); err == nil && len(fields) >= 3 {
			pending = append(pending, job{id: fields[0], what: fields[2] + " " + fields[1]})
		}
	}
	slices.SortFunc(pending, func(a, b job) int { return strings.Compare(a.what, b.what) })
	return pending, nil
}

// list returns the fields of the lines of what systemctl lists.
func list(ctx context.Context, host *system.Host, args ...string) ([][]string, error) {
	output, err := system.Check(ctx, host.Runner, "systemctl", args...)
	if err != nil {
		return nil, err
	}
	var lines [][]string
	for line := range strings.Lines(output) {
		if fields := strings.Fields(line); len(fields) > 0 {
			lines = append(lines, fields)
		}
	}
	return lines, nil
}

// activeStates asks for the state of units, one for each. The exit code is ignored: it says only that
// one of them is not active.
func activeStates(ctx context.Context, host *system.Host, names ...string) ([]string, error) {
	command := system.Command{Name: "systemctl", Args: append([]string{"is-active"}, names...)}
	result, err := host.Runner.Run(ctx, command)
	if err != nil {
		return nil, fmt.Errorf("asking systemd: %w", err)
	}
	states := strings.Fields(result.Stdout)
	if len(states) == 0 {
		return nil, fmt.Errorf("asking systemd: %q said nothing: %s", command, system.LastLine(result.Stderr))
	}
	return states, nil
}
