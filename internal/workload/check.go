// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package workload

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/sets"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
)

// State is what was read of a resident for the checks of all Nodes of a cluster. It is shared, and nothing of it is changed.
type State interface {
	// Refreshed is the State with that read again which has to be known at the moment when something is done.
	Refreshed(ctx context.Context, in Reading) (State, error)
	// Jobs of the resident that read or write its disks and are not done; see the check Backups.
	Jobs() []Job
}

// Check is a preflight check of a resident; see preflight.Check.
type Check struct {
	// Name is what a waiver names it by.
	Name string
	// Holds says that what blocks also holds an attempt that has taken its slot.
	Holds bool
	// Run is pure, and gets the State of the resident whose check it is.
	Run func(State, Question) []infrav1.PreflightResult
}

// Question is what is asked of a check.
type Question struct {
	// Node that is to go down.
	Node *corev1.Node
	// Nodes of the cluster.
	Nodes []corev1.Node
	// Upgrading are the names of the nodes that may go down meanwhile: their attempts have taken slots.
	Upgrading sets.Set[string]
	// Admitted says that the attempt has taken its slot: the Node may be drained already.
	Admitted bool
}

// CheckOf makes a Check of a function of the resident's own kind of State.
func CheckOf[S State](name string, holds bool, run func(S, Question) []infrav1.PreflightResult) Check {
	return Check{Name: name, Holds: holds, Run: func(state State, q Question) []infrav1.PreflightResult { return run(state.(S), q) }}
}

// Blocks is the result of a check that found what stands against an upgrade.
func Blocks(object, message string) []infrav1.PreflightResult {
	return []infrav1.PreflightResult{{Verdict: infrav1.PreflightBlock, Object: object, Message: message}}
}

// Warns is the result of a check that found what an upgrade does not wait for.
func Warns(object, message string) []infrav1.PreflightResult {
	return []infrav1.PreflightResult{{Verdict: infrav1.PreflightWarn, Object: object, Message: message}}
}
