// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

// Package identity is who a host is: an Ed25519 key that never leaves it, and a name. Both are made
// once, before the host registers, and kept in the work directory; a host that lost its key is
// another host.
package identity
