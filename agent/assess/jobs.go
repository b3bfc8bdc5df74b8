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

// maxTriggers is the maximum number of units whose triggers are queried at once. With more pending jobs the host is still booting, and the
// rest count.
const maxTriggers = 64

// job is a pending job of systemd: its number, unique within a boot, the unit, and "start" or the like.
type job struct{ id, unit, kind string }

func (j job) what() string { return j.kind + " " + j.unit }

// whats is never nil, since nil means unknown.
func whats(jobs []job) []string {
	all := []string{}
	for _, each := range jobs {
		all = append(all, each.what())
	}
	return all
}

// pendingJobs lists systemd's pending jobs, sorted.
func pendingJobs(ctx context.Context, host *system.Host) ([]job, error) {
	lines, err := list(ctx, host, "list-jobs", "--no-legend", "--plain")
	if err != nil {
		return nil, fmt.Errorf("listing jobs: %w", err)
	}
	var pending []job
	for _, fields := range lines {
		// Number, unit, type, state; some versions print a sentence if there are none.
		if _, err := strconv.Atoi(fields[0]); err == nil && len(fields) >= 3 {
			pending = append(pending, job{id: fields[0], unit: fields[1], kind: fields[2]})
		}
	}
	slices.SortFunc(pending, func(a, b job) int { return strings.Compare(a.what(), b.what()) })
	return pending, nil
}

// withoutTimers drops jobs of units that a timer triggers. It queries all of them at once.
func withoutTimers(ctx context.Context, host *system.Host, jobs []job) ([]job, error) {
	if len(jobs) == 0 {
		return nil, nil
	}
	var names []string
	for _, each := range jobs[:min(len(jobs), maxTriggers)] {
		names = append(names, each.unit)
	}
	// A name may begin with a dash, as -.mount does.
	args := append([]string{"show", "--property=Id,TriggeredBy", "--"}, names...)
	output, err := system.Check(ctx, host.Runner, "systemctl", args...)
	if err != nil {
		return nil, fmt.Errorf("asking what triggers units: %w", err)
	}
	timed := triggeredByTimer(output)
	return slices.DeleteFunc(jobs, func(each job) bool { return slices.Contains(timed, each.unit) }), nil
}

// triggeredByTimer parses the output of "systemctl show": units are separated by an empty line, and properties are in any order.
func triggeredByTimer(shown string) []string {
	var timed []string
	for block := range strings.SplitSeq(shown, "\n\n") {
		properties := map[string]string{}
		for line := range strings.Lines(block) {
			name, value, _ := strings.Cut(strings.TrimSpace(line), "=")
			properties[name] = value
		}
		isTimer := func(unit string) bool { return strings.HasSuffix(unit, ".timer") }
		if slices.ContainsFunc(strings.Fields(properties["TriggeredBy"]), isTimer) {
			timed = append(timed, properties["Id"])
		}
	}
	return timed
}
