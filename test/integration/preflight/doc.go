// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

// Package preflight holds specs, on the lab, of what may stand against an upgrade: what kubectl prints when one is
// requested, on a dry run too, and how a rollout is held that was not requested so.
package preflight
