// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package pausing

// Action is what is to be done about the marks of a Node.
type Action string

// Actions.
const (
	// Leave the marks as they are.
	Leave Action = "Leave"
	// Pause the Node in the rollout's name, or take note of the pause that a person has set.
	Pause Action = "Pause"
	// Approve: a person has taken the pause away. Record that on the Machine, and then Clear.
	Approve Action = "Approve"
	// Clear what a rollout has set. A pause of a person stays.
	Clear Action = "Clear"
)

// Due says what a rollout means for a Node.
type Due struct {
	// Rollout that the Node has still to be upgraded by; empty where none has.
	Rollout string
	// ByPolicy says whether the rollout's strategy pauses the Node.
	ByPolicy bool
	// Approved says whether a person has let the Node go on for this rollout.
	Approved bool
}

// Decide says what is to be done about the marks of a Node.
func Decide(marks Marks, due Due) Action {
	switch {
	case due.Rollout == "" || due.Approved:
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
