// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

// Package attemptstest makes the attempts that tests need.
package attemptstest
