// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

// Package rollout tests whole rollouts on the lab: what an operator does, and what must not happen
// meanwhile, counted from the audit logs of both API servers.
package rollout
