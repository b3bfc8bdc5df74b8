// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

// Package hostapi attacks the Elemental API of a real manager as an unauthenticated client.
package hostapi
