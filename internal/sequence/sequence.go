// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package sequence

import (
	"context"
	"fmt"
	"time"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
)

// Step is one idempotent step over an observation S.
type Step[S any] struct {
	// Name of the step, a verb or noun that an operator understands.
	Name string
	// Run decides from the observation whether the step is done, and acts if necessary. After an error it is repeated with backoff.
	Run func(ctx context.Context, observation S) (Result, error)
}

type kind int

const (
	done kind = iota
	wait
	end
)

// Result of a step.
type Result struct {
	kind kind
	// After is the maximum time until the next run. Zero: only when something changes.
	After time.Duration
	// Message is what the step waits for, or why the sequence ended.
	Message string
	// Holds are why the step is not done; none while it makes progress.
	Holds []infrav1.UpgradeHold
	// Outcome is the kind of end.
	Outcome string
}

// Done continues with the next step.
func Done() Result { return Result{kind: done} }

// Wait stops the run: the step is not done, which is normal. The message must change only when what the step waits for changes.
func Wait(after time.Duration, format string, args ...any) Result {
	return Result{kind: wait, After: after, Message: fmt.Sprintf(format, args...)}
}

// Hold stops the run like Wait, until the holds have ended.
func Hold(after time.Duration, message string, holds ...infrav1.UpgradeHold) Result {
	return Result{kind: wait, After: after, Message: message, Holds: holds}
}

// End ends the sequence permanently, with an outcome and its reason.
func End(outcome, format string, args ...any) Result {
	return Result{kind: end, Outcome: outcome, Message: fmt.Sprintf(format, args...)}
}

// IsDone reports whether the step is done.
func (r Result) IsDone() bool { return r.kind == done }

// IsEnd reports whether the sequence ended at the step.
func (r Result) IsEnd() bool { return r.kind == end }

// Report is the progress of a run.
type Report struct {
	// Passed are the names of the steps that were done in this run, in order.
	Passed []string
	// Step at which the run stopped; empty if all are done.
	Step string
	// Index of Step, from 1, and Total number of steps.
	Index, Total int
	// Result of Step; Done if all are done.
	Result Result
}

// Completed reports whether all steps are done.
func (r Report) Completed() bool { return r.Step == "" }

// Position returns the step in the form "Drain (7/14)".
func (r Report) Position() string {
	if r.Completed() {
		return ""
	}
	return fmt.Sprintf("%s (%d/%d)", r.Step, r.Index, r.Total)
}

// Run runs the steps from index first (from 0), the earliest that is relevant to the observation, and stops at the first that is not done.
// With an error it returns the report of the failed step, without a result: what a step returns beside an error means nothing.
func Run[S any](ctx context.Context, steps []Step[S], first int, observation S) (Report, error) {
	report := Report{Total: len(steps)}
	for index := first; index < len(steps); index++ {
		step := steps[index]
		result, err := step.Run(ctx, observation)
		if err != nil {
			result = Result{}
		}
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
