// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

// Package predecessor applies manifests with all fields of version 0.7, in strict mode: none of them may
// be unknown to this version. What version 0.7 has stored must not keep this version from writing.
package predecessor
