// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

// Package scheme is the one list of API kinds that the provider, and the lab that tries it, work with.
package scheme
