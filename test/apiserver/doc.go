// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

// Package apiserver provides the tests of one package with a real API server, with this project's
// and Cluster API's kinds, and managers for it. Whole clusters are provided by test/lab.
package apiserver
