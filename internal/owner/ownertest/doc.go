// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

// Package ownertest provides tests with the objects that own Elemental templates, as Cluster API would
// create them, on an API server of package test/apiserver. Cluster API itself does not run: a test
// decides what its controllers have done so far.
package ownertest
