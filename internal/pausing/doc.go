// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

// Package pausing knows the marks by which a Node waits for a person before its upgrade: who set them, what to
// do about them, and what was said by taking them away. It decides only; the Nodes are written by others.
//
// A pause of ours is two annotations on the Node, written together: the pause itself, which a person takes away
// to let the node go on, and the name of the rollout that paused it, which stays. A pause that is gone while the
// name is there was taken away by a person. That is recorded on the Machine, and then the Node is clean again. A
// pause with any other value is a person's own: it is waited for, and never taken away.
package pausing
