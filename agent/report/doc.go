// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

// Package report tells the Elemental API what the host is. There is one report, the whole truth; it
// is sent when it differs from the last one that the API accepted, at most once a second, and at once
// when an attempt enters another phase. Only the latest matters: what was not sent in time is never
// sent.
package report
