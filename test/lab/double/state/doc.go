// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

// Package state is state.yaml, the record that the elemental CLI keeps of what it installed.
//
// Mind what it is not: active names the snapshot that the next boot takes by default, neither the
// booted one nor one that was ever found good.
package state
