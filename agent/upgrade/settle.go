// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package upgrade

import (
	"context"
	"fmt"
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
		if err := m.save(marker); err != nil {
			return assess.Verdict{}, err
		}
	}
	question := assess.Question{Bootstrapped: m.Bootstrapped(), Before: marker.UnitsBefore}
	return m.settle(ctx, question, marker, marker.AssessUntil)
}

// settle asks until the verdict is final. A boot that has not become good by that uptime is bad, and one that is good has to be so for
// a while, with the same kubelet. That while may end later than the time does: an agent that was started again, or was away, has
// seen nothing of what was good before.
func (m *Machine) settle(ctx context.Context, question assess.Question, marker Marker, until time.Duration) (assess.Verdict, error) {
	good := steady{window: m.Policy.StableWindow}
	var began time.Duration
	for {
		verdict, err := m.ask(ctx, until, func(ctx context.Context) (assess.Verdict, error) { return m.Plugin.Assess(ctx, question) })
		if err != nil {
			return verdict, err
		}
		now := m.Clock.Uptime()
		if began == 0 {
			began = now
		}
		good.look(&verdict, now)
		question.Seen = verdict.Jobs
		switch {
		case verdict.State == assess.Good:
			return m.ask(ctx, until, m.Plugin.Check)
		case verdict.State == assess.Bad:
			return verdict, nil
		case now >= until && !good.sinceBy(max(began, until)):
			return m.late(verdict), nil
		}
		if marker.Phase == wire.PhaseAssessing && marker.Message != verdict.Message() {
			marker.Message = verdict.Message()
			if err := m.save(marker); err != nil {
				return verdict, err
			}
		}
		if err := system.Wait(ctx, m.Clock, m.Policy.AssessInterval); err != nil {
			return verdict, err
		}
	}
}

// steady is how long a boot has been good.
type steady struct {
	window  time.Duration
	since   time.Duration // uptime
	kubelet string
	good    bool
}

// look at another verdict: a good one that is not yet so for the window is undecided.
func (s *steady) look(verdict *assess.Verdict, now time.Duration) {
	if verdict.State != assess.Good {
		s.good = false
		return
	}
	if !s.good || s.kubelet != verdict.Kubelet {
		s.good, s.kubelet, s.since = true, verdict.Kubelet, now
	}
	if now-s.since < s.window {
		verdict.State = assess.Undecided
		verdict.Reasons = []string{fmt.Sprintf("it is good, and has to be so for %s with the same kubelet", s.window)}
	}
}

// sinceBy says whether it is good, and has been so since that uptime or longer.
func (s *steady) sinceBy(uptime time.Duration) bool { return s.good && s.since <= uptime }

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
	verdict.State = assess.Bad
	verdict.Reasons = append(slices.Clone(verdict.Reasons), fmt.Sprintf("not good after %s", m.Policy.AssessTimeout))
	return verdict
}
