// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

// Package source resolves OS images: the URIs that the elemental CLI accepts and how it turns one
// into a root tree.
//
// Properties of the real CLI (v2.3.2) are kept: it accepts plain HTTP whatever --tls-verify says, a
// bare reference that begins with an address and port is not a URI, and it records the digest of the
// platform's manifest even if an index was requested.
package source
