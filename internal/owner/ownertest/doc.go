// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

// Package ownertest gives tests a real API server with the kinds of Cluster API that own Elemental
// templates, and those objects as Cluster API would have them. Cluster API itself does not run: a test
// decides what its controllers have and have not done yet.
package ownertest
