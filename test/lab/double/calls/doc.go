// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

// Package calls is the log of the commands that ran on a lab host, <root>/lab/calls.jsonl. A call has
// two lines, at its start and at its end, so that a command that was killed is logged too.
package calls
