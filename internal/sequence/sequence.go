// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package sequence

import (
	"context"
	"fmt"
	"time"
)

// Step is one idempotent step over an observation S.
type Step[S any] struct {
	// Name of the step, a verb or noun an operator understands.
	Name string
	// Run looks at the observation, acts if it has to, and says whether the step is done. An error
	// means that the attempt to look or act failed and is to be repeated with backoff.
	Run func(ctx context.Context, observation S) (Result, error)
}

type kind int

const (
	done kind = iota
	wait
	end
)

// Result is what a step found.
type Result struct {
	kind kind
	// After is when to look again at the latest. Zero: only when something changes.
	After time.Duration
	// Message says what is waited for, or why the sequence ended.
	Message string
	// Outcome names the end.
	Outcome string
}

// Done lets the sequence go on with the next step.
func Done() Result { return Result{kind: done} }

// Wait stops the run: the step is not done, which is normal. The message must depend on nothing but
// what is waited for, so that it changes only when that does.
func Wait(after time.Duration, format string, args ...any) Result {
	return Result{kind: wait, After: after, Message: fmt.Sprintf(format, args...)}
}

// End stops the sequence for good, with an outcome and the reason for it.
func End(outcome, format string, args ...any) Result {
	return Result{kind: end, Outcome: outcome, Message: fmt.Sprintf(format, args...)}
}

// IsDone reports whether the step is done.
func (r Result) IsDone() bool { return r.kind == done }

// IsEnd reports whether the sequence ended at the step.
func (r Result) IsEnd() bool { return r.kind == end }

// Report says how far a run came.
type Report struct {
	// Passed are the names of the steps found done in this run, in order.
	Passed []string
	// Step is the step the run stopped at; empty when all are done.
	Step string
	// Index of Step, from 1, and Total number of steps.
	Index, Total int
	// Result of Step; Done when all are done.
	Result Result
}

// Completed reports whether all steps are done.
func (r Report) Completed() bool { return r.Step == "" }

// Position renders the step as "Drain (7/14)".
func (r Report) Position() string {
	if r.Completed() {
		return ""
	}
	return fmt.Sprintf("%s (%d/%d)", r.Step, r.Index, r.Total)
}

// Run runs the steps from the one with index first (from 0), which the observation shows to be the
// earliest that can still matter, and stops at the first that is not done. Together with an error it
// returns the report of the step that failed.
func Run[S any](ctx context.Context, steps []Step[S], first int, observation S) (Report, error) {
	report := Report{Total: len(steps)}
	for index := first; index < len(steps); index++ {
		step := steps[index]
		result, err := step.Run(ctx, observation)
		if err != nil || !result.IsDone() {
			report.Step, report.Index, report.Result = step.Name, index+1, result
		}
		if err != nil {
			return report, fmt.Errorf("running step %s: %w", step.Name, err)
		}
		if !result.IsDone() {
			return report, nil
		}
		report.Passed = append(report.Passed, step.Name)
	}
	return report, nil
}
