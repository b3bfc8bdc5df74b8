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

// job is a pending job of systemd: its number, unique within a boot, the unit, and "start" or the like.
type job struct{ id, unit, kind string }

func (j job) what() string { return j.kind + " " + j.unit }

// sameJob is what a job does without what differs between boots.
func sameJob(what string) string {
	kind, unit, _ := strings.Cut(what, " ")
	return kind + " " + identity(unit)
}

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

// ofBoot returns the jobs that are part of the boot: those of units of the OS that no timer triggers.
func ofBoot(ctx context.Context, host *system.Host, jobs []job) ([]job, error) {
	var names []string
	for _, each := range jobs {
		names = append(names, each.unit)
	}
	ofOS, _, err := sortOut(ctx, host, names, true)
	return slices.DeleteFunc(jobs, func(each job) bool { return !slices.Contains(ofOS, each.unit) }), err
}
