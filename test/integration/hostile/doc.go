// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

// Package hostile tries what callers can do who are not those that the manager is made for: on the real manager, beside Cluster
// API's real managers, which it goes on answering.
package hostile
