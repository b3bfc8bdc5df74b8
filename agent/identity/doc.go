// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

// Package identity is the identity of a host: an Ed25519 key that never leaves it, and a name. Both are
// created once, before the host registers, and kept in the work directory. A host that has lost its key
// has to register as a new host.
package identity
