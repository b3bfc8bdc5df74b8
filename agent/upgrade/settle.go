// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package upgrade

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"time"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/agent/assess"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/agent/osplugin"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/agent/system"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/wire"
)

// judge assesses the running boot.
func (m *Machine) judge(ctx context.Context, facts osplugin.Facts) (assess.Verdict, error) {
	marker := m.Marker()
	if marker.AssessedBootID != facts.BootID {
		marker.AssessedBootID, marker.AssessUntil = facts.BootID, m.Clock.Uptime()+m.Policy.AssessTimeout
		marker.AssessExtended = false
		if err := m.save(marker); err != nil {
			return assess.Verdict{}, err
		}
	}
	question := assess.Question{Bootstrapped: m.Bootstrapped(), Before: marker.UnitsBefore}
	prefix := ""
	if facts.Snapshot != marker.WantedSnapshot {
		prefix = formerChecks
	}
	return m.settle(ctx, question, marker, marker.AssessUntil, prefix)
}

// settle repeats the assessment until the verdict is final. A boot that is not good by that uptime is bad, and a good one has to stay good
// for the stable window, with the same kubelet. The window may end after that uptime, since an agent that was restarted has not observed
// what was good before. Only one agent gets this extension: otherwise an agent that is restarted again and again would never end the
// attempt. The names of the checks get a prefix.
func (m *Machine) settle(ctx context.Context, question assess.Question, marker Marker, until time.Duration, prefix string) (assess.Verdict, error) {
	good := steady{window: m.Policy.StableWindow, until: until, spent: marker.AssessExtended}
	for {
		verdict, err := m.ask(ctx, until, func(ctx context.Context) (assess.Verdict, error) { return m.Plugin.Assess(ctx, question) })
		if err != nil {
			return verdict, err
		}
		good.look(&verdict, m.Clock)
		question.Seen = verdict.Jobs
		final := verdict.State != assess.Undecided
		switch {
		case verdict.State == assess.Good:
			verdict, err = m.userChecks(ctx, until, question, verdict)
		case !final && good.late():
			final, verdict = true, m.late(verdict)
		}
		verdict.Checks = named(prefix, verdict.Checks)
		if final {
			return verdict, err
		}
		if err := m.note(&marker, verdict, good.over()); err != nil {
			return verdict, err
		}
		if err := system.Wait(ctx, m.Clock, m.Policy.AssessInterval); err != nil {
			return verdict, err
		}
	}
}

// userChecks run after everything else has passed, and are final.
func (m *Machine) userChecks(ctx context.Context, until time.Duration, question assess.Question, boot assess.Verdict) (assess.Verdict, error) {
	verdict, err := m.ask(ctx, until, func(ctx context.Context) (assess.Verdict, error) { return m.Plugin.Check(ctx, question.Before) })
	verdict.Checks = slices.Concat(boot.Checks, verdict.Checks)
	verdict.Warnings = slices.Concat(boot.Warnings, verdict.Warnings)
	return verdict, err
}

// note stores in the marker what the assessment waits for, and whether the time was extended.
func (m *Machine) note(marker *Marker, verdict assess.Verdict, extended bool) error {
	before := *marker
	if marker.Phase == wire.PhaseAssessing {
		marker.Message = verdict.Message()
		marker.record(verdict.Checks)
	}
	marker.AssessExtended = marker.AssessExtended || extended
	if reflect.DeepEqual(before, *marker) {
		return nil
	}
	return m.save(*marker)
}

// steady measures how long a boot has been good. All times are uptimes.
type steady struct {
	window time.Duration
	// until is when the boot has to be good, spent is whether an earlier agent has used the extension.
	until time.Duration
	spent bool
	// began and now are the first and the latest assessment.
	began, now time.Duration
	good       bool
	since      time.Duration
	kubelet    string
}

// look adds a verdict: a good one becomes undecided until it has lasted for the window.
func (s *steady) look(verdict *assess.Verdict, clock system.Clock) {
	s.now = clock.Uptime()
	if s.began == 0 {
		s.began = s.now
	}
	isGood := verdict.State == assess.Good
	if !s.good || s.kubelet != verdict.Kubelet {
		s.kubelet, s.since = verdict.Kubelet, s.now
	}
	s.good = isGood
	stable := assess.Verdict{State: assess.Undecided}
	if isGood && s.now-s.since >= s.window {
		stable.State = assess.Good
	} else if isGood {
		stable.Reasons = []string{fmt.Sprintf("it is good, and has to stay good for %s with the same kubelet", s.window)}
	}
	verdict.Include(stableCheck, stable, clock.Now())
}

// over reports whether the time is up.
func (s *steady) over() bool { return s.now >= s.until }

// late reports whether the time is up. It is extended once for a boot that is good by then, to stay good, and for one that an agent first
// sees shortly before, to become good.
func (s *steady) late() bool {
	limit := max(s.until, s.began+s.window)
	switch {
	case !s.over():
		return false
	case s.spent:
		return true
	case s.good:
		return s.since > limit
	}
	return s.now >= limit
}

// ask assesses once, for at most the remaining time. If an agent was restarted when no time is left, the boot is still assessed, for at most
// the time of one check.
func (m *Machine) ask(ctx context.Context, until time.Duration, question func(context.Context) (assess.Verdict, error)) (assess.Verdict, error) {
	bounded, cancel := context.WithTimeout(ctx, max(until-m.Clock.Uptime(), min(assess.CheckTimeout, m.Policy.AssessTimeout)))
	defer cancel()
	verdict, err := question(bounded)
	switch {
	case err != nil && bounded.Err() != nil && ctx.Err() == nil:
		return m.late(verdict), nil
	case err != nil:
		return verdict, fmt.Errorf("assessing the boot: %w", err)
	}
	return verdict, nil
}

func (m *Machine) late(verdict assess.Verdict) assess.Verdict {
	verdict.State, verdict.Checks = assess.Bad, outOfTime(verdict.Checks)
	verdict.Reasons = append(slices.Clone(verdict.Reasons), fmt.Sprintf("not good after %s", m.Policy.AssessTimeout))
	return verdict
}
