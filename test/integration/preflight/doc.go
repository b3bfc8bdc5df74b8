// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

// Package preflight has specs, on the lab, of what can block an upgrade: what kubectl prints when one is
// requested, also in a dry run, and how a rollout waits that was not rejected at the request.
package preflight
