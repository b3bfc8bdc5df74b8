// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

// Package test has the scripts that run tests and choose what fits into CI's time, and their own test.
package test
