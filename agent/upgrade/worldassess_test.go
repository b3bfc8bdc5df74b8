// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package upgrade_test

import (
	"context"
	"reflect"
	"slices"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/agent/assess"
)

func (w *world) compares(with assess.UnitStates) {
	if !slices.ContainsFunc(w.before, func(known assess.UnitStates) bool { return reflect.DeepEqual(known, with) }) {
		w.before = append(w.before, with)
	}
}

func (w *world) Before(context.Context, bool) (assess.UnitStates, error) {
	return assess.UnitStates{Failed: []string{"old.service"}, Failing: w.failing}, w.boundary("before", func() error { return nil })
}

func (w *world) Assess(ctx context.Context, question assess.Question) (verdict assess.Verdict, err error) {
	w.seen = append(w.seen, question.Seen)
	w.compares(question.Before)
	err = w.boundary("assess", func() error {
		if w.hangs {
			w.hangs = false
			<-ctx.Done()
			return ctx.Err()
		}
		verdict = assess.Verdict{State: assess.Good}
		if len(w.verdicts) > 0 {
			verdict, w.verdicts = w.verdicts[0], w.verdicts[1:]
		}
		return nil
	})
	return verdict, err
}

func (w *world) Check(_ context.Context, before assess.UnitStates) (verdict assess.Verdict, err error) {
	w.compares(before)
	err = w.boundary("check", func() error {
		verdict = assess.Verdict{State: assess.Good}
		if len(w.checks) > 0 {
			verdict, w.checks = w.checks[0], w.checks[1:]
		}
		return nil
	})
	return verdict, err
}

func (w *world) BeforeUpgrade(context.Context) (assess.Verdict, error) {
	verdict := assess.Verdict{State: assess.Good}
	found := verdict
	if w.refusal != "" {
		found = assess.Verdict{State: assess.Bad, Reasons: []string{w.refusal}}
	}
	verdict.Include("pre-upgrade.d/10-backup", found, w.clock.Now())
	return verdict, w.boundary("before upgrade", func() error { return nil })
}
