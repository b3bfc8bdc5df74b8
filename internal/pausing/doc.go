// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

// Package pausing interprets the annotations by which a Node waits for approval before its upgrade: who set them, what to
// do about them, and what their removal means. It makes no API calls.
//
// A pause by a rollout consists of two annotations on the Node, written together: the pause itself, which an operator
// removes to approve the node, and the name of the rollout, which remains. If only the name is left, an operator has
// approved the node. That is recorded on the Machine, and the name is removed from the Node. A pause with any other
// value was set by an operator: the upgrade waits for its removal, and the provider never removes it.
package pausing
