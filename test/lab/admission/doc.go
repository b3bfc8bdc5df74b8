// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

// Package admission lets a test see each write of a user just before an API server stores it, decide whether it is
// stored, and learn when it was: what a process does to the outside world, one write at a time and without a proxy.
package admission
