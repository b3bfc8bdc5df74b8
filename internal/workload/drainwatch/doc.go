// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

// Package drainwatch wakes the reconcile of an object when something leaves the Node that it drains: Pods, virtual machines,
// attached volumes. Its watches select what is on that Node and live as long as the drain does. They wake and hold no
// objects, so that what acts on a Node goes on reading it live.
//
// Nothing depends on a watch: where none can be had, as without the right to it, the caller polls.
package drainwatch
