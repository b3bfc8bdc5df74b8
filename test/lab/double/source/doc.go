// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

// Package source is where an OS image comes from: the URIs that the elemental CLI takes and how it
// turns one into a root tree.
//
// The habits of the real one (v2.3.2) are kept: plain HTTP is tolerated whatever --tls-verify says, a
// bare reference that begins with an address and port is no URI at all, and what is recorded is the
// digest of the platform's manifest, also when an index was asked for.
package source
