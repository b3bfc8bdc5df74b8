// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

// Package state is state.yaml, the elemental CLI's record of what it installed.
//
// Note that active is the snapshot that the next boot uses by default: neither the booted one nor
// one that ever passed its assessment.
package state
