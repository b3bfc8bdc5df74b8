// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package clusterupgrade

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/clusterupgrade/window"
)

// ParseWindow as it is in the API.
func ParseWindow(asked infrav1.UpgradeWindow) (window.Window, error) {
	return window.Parse(asked.Schedule, asked.TimeZone, time.Duration(asked.DurationSeconds)*time.Second)
}

// Outside says why no node may start at a time; empty if it may. Without a figure of how long a node takes, the first one starts in any window.
func (p *Plan) Outside(now time.Time) string {
	switch {
	case p.windowProblem != "":
		return p.windowProblem
	case len(p.windows) == 0:
		return ""
	}
	slowest, closes := p.slowest(), window.Closes(p.windows, now)
	if !closes.IsZero() && !now.Add(slowest).After(closes) {
		return ""
	}
	if longest := window.Longest(p.windows, now); slowest > longest {
		return fmt.Sprintf("no window is long enough: the slowest node took %s, and the longest of spec.windows is open for %s",
			slowest.Round(time.Second), longest)
	}
	next := window.Next(p.windows, now)
	if !closes.IsZero() {
		next = window.Next(p.windows, closes)
	}
	if closes.IsZero() {
		return "no window is open; the next one opens at " + written(next) + p.heldOver()
	}
	return fmt.Sprintf("the window closes at %s, before a node would be done, of which the slowest took %s; the next one opens at %s%s",
		written(closes), slowest.Round(time.Second), written(next), p.heldOver())
}

// noWindowFits reports whether a user has to change spec.windows: they are not valid, or a node takes longer than each of them.
func (p *Plan) noWindowFits(now time.Time) bool {
	return p.windowProblem != "" || len(p.windows) > 0 && p.slowest() > window.Longest(p.windows, now)
}

func written(t time.Time) string { return t.UTC().Format(time.RFC3339) }

// heldOver says what it means for a control plane that one of its Machines waits which Cluster API is updating.
// Source: KubeadmControlPlane of Cluster API 1.14.
func (p *Plan) heldOver() string {
	for _, member := range p.Members() {
		if PoolOf(member.Machine) == ControlPlanePool && member.State == Waiting && member.Attempt != nil && member.Attempt.Spec.Driver == infrav1.DriverClusterAPI {
			return fmt.Sprintf(". Machine %s of the control plane is held over until then, and its control plane neither scales nor is rolled out meanwhile",
				member.Machine.Name)
		}
	}
	return ""
}

// NextWindow is when the next window opens; zero if one is open, or there is none.
func (p *Plan) NextWindow(now time.Time) time.Time {
	if len(p.windows) == 0 || !window.Closes(p.windows, now).IsZero() {
		return time.Time{}
	}
	return window.Next(p.windows, now)
}

// measured are the members of which it is known how long they took: in this upgrade or, before the first of them is done, the last time.
func (p *Plan) measured() []Member {
	known := slices.DeleteFunc(p.Members(), func(m Member) bool { return m.Took <= 0 })
	now := slices.DeleteFunc(slices.Clone(known), func(m Member) bool { return !m.IsOfUpgrade })
	if len(now) > 0 {
		return now
	}
	return known
}

// slowest is how long the slowest node took; zero if that is not known.
func (p *Plan) slowest() time.Duration {
	known := p.measured()
	if len(known) == 0 {
		return 0
	}
	return slices.MaxFunc(known, func(a, b Member) int { return cmp.Compare(a.Took, b.Took) }).Took
}

// Estimate is when the last node will be done, with so many of workers at a time, from when the last change was seen: the end of a node, of a stage, or
// the beginning. It is zero where nothing is known, and changes with nothing but these.
func (p *Plan) Estimate(concurrent int) time.Time {
	known, from := p.measured(), p.since()
	if len(known) == 0 || from.IsZero() {
		return time.Time{}
	}
	total := time.Duration(0)
	for _, member := range known {
		total += member.Took
	}
	mean, left := total/time.Duration(len(known)), time.Duration(0)
	for _, stage := range p.Stages {
		if stage.IsDone() && stage.Soak == 0 {
			continue
		}
		waves := (stage.Nodes() - stage.NodesDone() + concurrent - 1) / concurrent
		left += time.Duration(waves)*mean + stage.Soak
	}
	return from.Add(left).Truncate(time.Second)
}

// since is when the last change was seen.
func (p *Plan) since() time.Time {
	latest := time.Time{}
	for _, recorded := range p.Upgrade.Status.Stages {
		for _, seen := range []*metav1.Time{recorded.StartTime, recorded.CompletionTime} {
			if seen != nil {
				latest = later(latest, seen.Time)
			}
		}
	}
	for _, member := range p.Members() {
		if member.IsOfUpgrade {
			latest = later(latest, member.DoneAt)
		}
	}
	return latest
}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}
