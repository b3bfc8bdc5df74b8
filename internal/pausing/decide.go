// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package pausing

// Action is what to do about the pause annotations of a Node.
type Action string

// Actions.
const (
	// Leave the annotations unchanged.
	Leave Action = "Leave"
	// Pause the Node in the rollout's name, or record that the rollout has observed an operator's pause.
	Pause Action = "Pause"
	// Approve: an operator has removed the pause. Record that on the Machine, and then Clear.
	Approve Action = "Approve"
	// Clear the annotations that a rollout has set. An operator's pause stays.
	Clear Action = "Clear"
)

// Due is what a rollout requires of a Node.
type Due struct {
	// Rollout that has not upgraded the Node yet.
	Rollout string
	// ByPolicy reports whether the rollout's strategy pauses the Node.
	ByPolicy bool
	// Approved reports whether an operator has approved the Node for this rollout.
	Approved bool
}

// Decide returns what to do about the pause annotations of a Node.
func Decide(marks Marks, due Due) Action {
	switch {
	case due.Approved:
		return clearIfAny(marks)
	case marks.By == due.Rollout && marks.Paused:
		return Leave
	case marks.By == due.Rollout:
		return Approve
	case due.ByPolicy, marks.Paused && !marks.Own():
		return Pause
	}
	return clearIfAny(marks)
}

func clearIfAny(marks Marks) Action {
	if marks.By == "" {
		return Leave
	}
	return Clear
}
