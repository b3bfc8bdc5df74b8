// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

// Package nodepause keeps the pauses of a Cluster's nodes: all nodes that a rollout is going to upgrade, and that its
// strategy pauses, are marked from the moment Cluster API begins with the first of them, and nothing of a rollout that
// is over, was aborted, or was replaced by another is left on any of them.
//
// The attempts wait at their own step (controllers/hostupgrade/prepare.go), by the same rules (internal/pausing), and
// do not depend on this controller: it is for the nodes whose attempts do not exist yet, or any more. The Nodes of a
// workload cluster are watched for their marks alone, in the cache that other controllers have of them already, so that
// idle nodes cost nothing.
package nodepause
