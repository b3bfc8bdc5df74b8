// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package assess

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/agent/system"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/wire"
)

// ToolkitUnit is the toolkit's boot assessment. Source: elemental-toolkit, feature "boot-assessment".
const ToolkitUnit = "elemental-boot-assessment.service"

const (
	cmdlineFile = "/proc/cmdline"
	// healthCheck on the kernel's command line enables the toolkit's assessment.
	healthCheck = "elemental.health_check"
	// waitsForToolkit is the reason while that has no result, which is no failure.
	waitsForToolkit = "waiting for the toolkit's boot assessment"
)

// own are the agent's checks of a boot, unless they do not apply.
var own = []struct {
	name    string
	applies func(Question) bool
	look    func(context.Context, *system.Host, Question, *Verdict) error
}{
	{ToolkitCheck, func(Question) bool { return true }, toolkit},
	{KubeletCheck, func(q Question) bool { return q.Bootstrapped }, kubelet},
	{NetworkCheck, func(q Question) bool { return q.Before.Routed }, network},
	{UnitsCheck, func(q Question) bool { return !q.IgnoreUnits }, units},
	{JobsCheck, func(q Question) bool { return !q.IgnoreUnits && q.Before.Jobs != nil }, jobs},
}

// Boot assesses the running boot once, without the user's checks. With an error it returns the results so far.
func Boot(ctx context.Context, host *system.Host, question Question) (Verdict, error) {
	verdict := Verdict{State: Good}
	for _, check := range own {
		if !check.applies(question) {
			continue
		}
		found := Verdict{State: Good}
		err := check.look(ctx, host, question, &found)
		if err != nil {
			verdict.Checks = append(verdict.Checks, wire.Check{
				Name: check.name, Verdict: wire.CheckTimedOut, Since: second(host.Clock.Now()), Output: tail(err.Error()),
			})
			return verdict, err
		}
		found.excuse(question.Before)
		verdict.Include(check.name, found, host.Clock.Now())
	}
	return verdict, nil
}

// Checks runs the user's checks, which are for a boot that is good otherwise. With an error it returns the results so far.
func Checks(ctx context.Context, host *system.Host, before UnitStates) (Verdict, error) {
	verdict := Verdict{State: Good}
	err := userChecks(ctx, host, before, &verdict)
	return verdict, err
}

func toolkit(ctx context.Context, host *system.Host, _ Question, verdict *Verdict) error {
	states, err := host.ActiveStates(ctx, ToolkitUnit)
	if err != nil {
		return err
	}
	cmdline, err := host.ReadTrimmed(cmdlineFile)
	if err != nil {
		return err
	}
	// GRUB requests the assessment; a boot without it leaves the unit inactive.
	onTrial := slices.Contains(strings.Fields(cmdline), healthCheck)
	switch {
	case states[0] == "failed":
		verdict.add(Bad, "the toolkit's boot assessment failed")
	case states[0] == "activating", states[0] != "active" && onTrial:
		verdict.add(Undecided, waitsForToolkit)
	}
	return nil
}

func units(ctx context.Context, host *system.Host, question Question, verdict *Verdict) error {
	failed, err := failedUnits(ctx, host)
	if err != nil {
		return err
	}
	before := map[string]bool{ToolkitUnit: true}
	for _, unit := range question.Before.Failed {
		before[identity(unit)] = true
	}
	failed = slices.DeleteFunc(failed, func(unit string) bool { return before[identity(unit)] })
	ofOS, others, err := sortOut(ctx, host, failed, false)
	if err != nil {
		return err
	}
	if len(others) > 0 {
		verdict.warn("units failed that are no part of the OS: " + some(others))
	}
	if len(ofOS) > 0 {
		verdict.add(Bad, "units failed that had not failed before: "+some(ofOS))
	}
	return nil
}

// jobs: a unit that is still to be started may fail, or take others down. Three kinds of jobs are not part of the boot, and would keep it
// from ever being good: those that were not pending at the previous assessment, those of units triggered by a timer, such as a backup that
// was due while the host was down, and those of units that are no part of the OS. The toolkit's unit has a check of its own.
func jobs(ctx context.Context, host *system.Host, question Question, verdict *Verdict) error {
	pending, err := pendingJobs(ctx, host)
	if err != nil {
		return err
	}
	verdict.Jobs = []string{}
	before := map[string]bool{}
	for _, what := range question.Before.Jobs {
		before[sameJob(what)] = true
	}
	pending = slices.DeleteFunc(pending, func(each job) bool {
		verdict.Jobs = append(verdict.Jobs, each.id)
		hasJustBegun := question.Seen != nil && !slices.Contains(question.Seen, each.id)
		return hasJustBegun || each.unit == ToolkitUnit || before[sameJob(each.what())]
	})
	waiting, err := ofBoot(ctx, host, pending)
	if err != nil {
		return err
	}
	if len(waiting) > 0 {
		verdict.add(Undecided, "systemd jobs are pending: "+some(whats(waiting)))
	}
	return nil
}

// Units returns failed units and pending jobs, and whether there is a default route.
func Units(ctx context.Context, host *system.Host) (UnitStates, error) {
	failed, err := failedUnits(ctx, host)
	if err != nil {
		return UnitStates{}, err
	}
	pending, err := pendingJobs(ctx, host)
	if err != nil {
		return UnitStates{}, err
	}
	routed, err := hasDefaultRoute(host)
	return UnitStates{Failed: failed, Jobs: whats(pending), Routed: routed}, err
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

// list returns the fields of each line of a list of systemctl.
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
