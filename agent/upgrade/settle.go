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

// judge the boot that runs.
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

// settle asks until the verdict is final. A boot that has not become good by that uptime is bad, and one that is good has to be so for
// a while, with the same kubelet. That while may end later than the time does: an agent that was started again, or was away, has
// seen nothing of what was good before. Only one agent is given it: others would hold the attempt for as long as they keep being started.
// The names of the checks begin with a prefix.
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
			verdict, err = m.userChecks(ctx, until, verdict)
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

// userChecks are made of a boot that is good otherwise, and decide.
func (m *Machine) userChecks(ctx context.Context, until time.Duration, boot assess.Verdict) (assess.Verdict, error) {
	verdict, err := m.ask(ctx, until, m.Plugin.Check)
	verdict.Checks = slices.Concat(boot.Checks, verdict.Checks)
	return verdict, err
}

// note in the marker what is waited for, and that there is more time for it.
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

// steady is how long a boot has been good. All times are uptimes.
type steady struct {
	window time.Duration
	// until is when the boot has to be good, spent says that an agent before this one has looked at it for longer.
	until time.Duration
	spent bool
	// began and now are the first and the last look.
	began, now time.Duration
	good       bool
	since      time.Duration
	kubelet    string
}

// look at another verdict: a good one that is not yet so for the window is undecided.
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
		stable.Reasons = []string{fmt.Sprintf("it is good, and has to be so for %s with the same kubelet", s.window)}
	}
	verdict.Include(stableCheck, stable, clock.Now())
}

// over reports whether the time is up.
func (s *steady) over() bool { return s.now >= s.until }

// late reports whether the time is up. A boot that is good by then has more of it to stay so, once; and so has, to become good, one that an
// agent sees for the first time shortly before.
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

// ask once, for no longer than there is time. A boot for which no time is left is looked at all the same, when the agent was started
// again, but for no longer than one check may take.
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
