// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

// Package report reports the status of the host to the Elemental API. A report always contains the whole
// status. It is sent when it differs from the last one that the API accepted, at most once a second, and
// immediately when an attempt enters another phase. The first report of an agent waits for that second in any case: a host that
// has just booted finds out within it that it is to assess its boot. Only the latest status is sent; intermediate ones are
// dropped.
package report
