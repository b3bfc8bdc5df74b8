// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

// Package rendezvous is where a command of a lab host and the test meet, just before the command acts, just after, and
// half-way where it writes an image: the command goes on when the test says so, or is dead by then.
package rendezvous
