// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

// Package served tells which kinds an API server serves. It goes on to serve one for a moment after its definition has gone.
package served
