// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

// Package suite is what suites of specs on the lab have in common: how they start it and make clusters on it, what they
// assert when it stops, and what they print of it when a spec fails. Its functions are for ginkgo nodes.
package suite
