// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

// Package attempts finds ElementalHostUpgrades by index. A namespace may hold the ended attempts of a whole fleet: what
// lists them all copies tens of megabytes for the few that it looks for.
package attempts
