// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

// Package suite has what the suites of specs on the lab have in common: starting the lab and creating clusters on it,
// assertions when it stops, and output when a spec fails. Its functions are called from Ginkgo nodes.
package suite
