// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

// Package lab tests the lab itself: that its clusters behave as the other suites rely on, and that what is
// counted from their audit logs is what happened. It does not run our manager.
package lab
