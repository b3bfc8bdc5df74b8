// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package assess

import (
	"context"
	"fmt"
	"slices"
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

// KubeletUnits run a kubelet; a node has one of them.
var KubeletUnits = []string{"kubelet.service", "rke2-server.service", "rke2-agent.service", "k3s.service", "k3s-agent.service"}

// Boot judges the running boot once. The user's checks run only when all else is good.
func Boot(ctx context.Context, host *system.Host, question Question) (Verdict, error) {
	verdict := Verdict{State: Good}
	for _, check := range []func(context.Context, *system.Host, Question, *Verdict) error{toolkit, kubelet, units} {
		if err := check(ctx, host, question, &verdict); err != nil {
			return Verdict{}, err
		}
	}
	if verdict.State != Good {
		return verdict, nil
	}
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

func kubelet(ctx context.Context, host *system.Host, question Question, verdict *Verdict) error {
	if !question.Bootstrapped {
		return nil
	}
	states, err := activeStates(ctx, host, KubeletUnits...)
	if err != nil {
		return err
	}
	if !slices.Contains(states, "active") {
		verdict.add(Undecided, "no kubelet is active ("+strings.Join(KubeletUnits, ", ")+")")
	}
	return nil
}

func units(ctx context.Context, host *system.Host, question Question, verdict *Verdict) error {
	if question.IgnoreUnits {
		return nil
	}
	failed, err := FailedUnits(ctx, host)
	if err != nil {
		return err
	}
	failed = slices.DeleteFunc(failed, func(unit string) bool {
		return unit == ToolkitUnit || slices.Contains(question.KnownFailed, unit)
	})
	if len(failed) > 0 {
		verdict.add(Bad, "units failed that had not before: "+strings.Join(failed, ", "))
	}
	return nil
}

// FailedUnits lists the systemd units that have failed, sorted.
func FailedUnits(ctx context.Context, host *system.Host) ([]string, error) {
	output, err := system.Check(ctx, host.Runner, "systemctl", "list-units", "--state=failed", "--no-legend", "--plain")
	if err != nil {
		return nil, fmt.Errorf("listing failed units: %w", err)
	}
	var failed []string
	for line := range strings.Lines(output) {
		if fields := strings.Fields(line); len(fields) > 0 {
			failed = append(failed, fields[0])
		}
	}
	slices.Sort(failed)
	return failed, nil
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
