// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

// Package lab tries the lab itself: that its clusters decide what the other suites rely on, and that what is
// counted from their audit logs is what happened. Our manager is not needed for it.
package lab
