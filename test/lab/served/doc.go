// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

// Package served checks which kinds an API server serves. It continues to serve one for a moment after its definition
// was deleted.
package served
