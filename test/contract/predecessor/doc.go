// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

// Package predecessor applies manifests with all fields that version 0.7 had, in strict mode: none may be
// unknown to this version.
package predecessor
