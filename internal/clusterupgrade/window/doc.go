// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

// Package window says when a maintenance window is open. Windows begin by a cron schedule in the local time of a zone, and last for
// a number of seconds.
package window
