// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package version

// Set by -ldflags "-X ...".
var (
	// Version of the build.
	Version = "v0.0.0-dev"
	// Commit the build was made from.
	Commit = "unknown"
)
